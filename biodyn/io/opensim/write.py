"""Files of OpenSim other than models, as text: tables through time (.mot, .sto), markers (.trc), ExternalLoads and set-up XML."""

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
    """Return a .mot or .sto table.

    columns: (T,) each, the first one `time` in s; names without blanks. notes: lines of the header. Numbers have 15 digits,
    a missing one is `nan`.
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
    """Return a .trc table of markers.

    positions: (T, M, 3) m, NaN where a marker was not seen (an empty cell); time_s: (T,). Written in mm, to 1e-5 mm.
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
    """Return an ExternalLoads XML: by name of the load its body and the prefix of its columns in `table`.

    Force, point and torque are the columns `<prefix>_v`, `<prefix>_p`, `<prefix>_m` of x, y, z, all in ground.
    """
    root = ET.Element("OpenSimDocument", Version=_VERSION)
    top = ET.SubElement(root, "ExternalLoads", name="ground_reaction")
    objects = ET.SubElement(top, "objects")
    for name, (body, prefix) in loads.items():
        _with(
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
    return _document(root)


def inverse_dynamics_setup(files: Mapping[str, str], time_s: tuple[float, float], output: str) -> str:
    """Return the set-up of OpenSim's InverseDynamicsTool, without its low-pass filter.

    files: `model`, `coordinates`, and `loads` where there are some. time_s: a little before the first and after the last row,
    as the tool leaves out a last row that its own rounding puts behind the end.
    """
    root = ET.Element("OpenSimDocument", Version=_VERSION)
    tool = ET.SubElement(root, "InverseDynamicsTool", name="inverse_dynamics")
    _with(
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
    return _document(root)


def _with(element: ET.Element, **children: str) -> None:
    for name, text in children.items():
        ET.SubElement(element, name).text = text


def _document(root: ET.Element) -> str:
    ET.indent(root, "\t")
    return '<?xml version="1.0" encoding="UTF-8" ?>\n' + ET.tostring(root, encoding="unicode") + "\n"
