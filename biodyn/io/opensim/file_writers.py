"""Write OpenSim files other than models as text: tables over time (.mot, .sto), markers (.trc), ExternalLoads and set-up XML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from xml.etree import ElementTree as ET

import numpy as np

from biodyn.conventions import FloatArray

_VERSION = "40000"


def storage_text(
    name: str, columns: Mapping[str, FloatArray], notes: Sequence[str] = (), *, in_degrees: bool = False
) -> str:
    """Return the text of a .mot or .sto table.

    columns: (T,) each, first `time` in s; names without blanks. notes: header lines. Numbers have 15 digits, missing numbers
    are `nan`.
    """
    values = np.column_stack(list(columns.values()))
    head = [
        name,
        "version=1",
        f"nRows={len(values)}",
        f"nColumns={values.shape[1]}",
        f"inDegrees={'yes' if in_degrees else 'no'}",
        "",
        *notes,
        "endheader",
        "\t".join(columns),
    ]
    text = StringIO()
    np.savetxt(text, values + 0.0, fmt="%.15g", delimiter="\t")
    return "\n".join(head) + "\n" + text.getvalue()


def trc_text(file: str, labels: Sequence[str], positions: FloatArray, time_s: FloatArray, first_frame: int = 1) -> str:
    """Return the text of a .trc table of markers.

    positions: (T, M, 3) m, NaN if a marker was not seen (an empty cell); time_s: (T,). Positions are written in mm, rounded to
    1e-5 mm.
    """
    frames, count = positions.shape[:2]
    rate = (frames - 1) / (time_s[-1] - time_s[0]) if frames > 1 else 1.0
    lines = [
        f"PathFileType\t4\t(X/Y/Z)\t{file}",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames",
        f"{rate:.10g}\t{rate:.10g}\t{frames}\t{count}\tmm\t{rate:.10g}\t{first_frame}\t{frames}",
        "Frame#\tTime\t" + "\t\t\t".join(labels),
        "\t\t" + "\t".join(f"X{k}\tY{k}\tZ{k}" for k in range(1, count + 1)),
        "",
    ]
    rows = 1e3 * positions.reshape(frames, -1)
    for k, row in enumerate(rows):
        cells = "\t".join("" if np.isnan(x) else f"{x:.5f}" for x in row)
        lines.append(f"{first_frame + k}\t{time_s[k]:.10g}\t{cells}")
    return "\n".join(lines) + "\n"


def external_loads_text(loads: Mapping[str, tuple[str, str]], table: str) -> str:
    """Return the text of an ExternalLoads XML; `loads`: body and prefix of the columns in `table`, by name of the load.

    Force, point and torque are the columns `<prefix>_v`, `<prefix>_p`, `<prefix>_m` with x, y, z, all in ground axes.
    """
    root = ET.Element("OpenSimDocument", Version=_VERSION)
    top = ET.SubElement(root, "ExternalLoads", name="ground_reaction")
    objects = ET.SubElement(top, "objects")
    for name, (body, prefix) in loads.items():
        _add_children(
            ET.SubElement(objects, "ExternalForce", name=name),
            appliesForce="true",
            applied_to_body=body,
            force_expressed_in_body="ground",
            point_expressed_in_body="ground",
            force_identifier=f"{prefix}_v",
            point_identifier=f"{prefix}_p",
            torque_identifier=f"{prefix}_m",
            data_source_name=table,
        )
    ET.SubElement(top, "datafile").text = table
    return _document_text(root)


def inverse_dynamics_setup(files: Mapping[str, str], time_s: tuple[float, float], output: str) -> str:
    """Return the text of a set-up of OpenSim's InverseDynamicsTool, without its low-pass filter.

    files: `model`, `coordinates`, and `loads` if any. time_s: first and last time, s, slightly before the first and after the
    last row, because the tool omits a last row that rounding puts after the end.
    """
    root = ET.Element("OpenSimDocument", Version=_VERSION)
    tool = ET.SubElement(root, "InverseDynamicsTool", name="inverse_dynamics")
    _add_children(
        tool,
        results_directory=".",
        model_file=files["model"],
        time_range=f"{time_s[0]:.15g} {time_s[1]:.15g}",
        forces_to_exclude="Muscles",
        external_loads_file=files.get("loads", ""),
        coordinates_file=files["coordinates"],
        lowpass_cutoff_frequency_for_coordinates="-1",
        output_gen_force_file=output,
    )
    return _document_text(root)


def _add_children(element: ET.Element, **children: str) -> None:
    for name, text in children.items():
        ET.SubElement(element, name).text = text


def _document_text(root: ET.Element) -> str:
    ET.indent(root, "\t")
    return '<?xml version="1.0" encoding="UTF-8" ?>\n' + ET.tostring(root, encoding="unicode") + "\n"
