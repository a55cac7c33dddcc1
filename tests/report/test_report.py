"""The page, the record and the checks."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from markupsafe import escape
from support.synthetic import MASS_KG, walker

from biodyn.checks import add_verdict
from biodyn.library.toml_files import load_table
from biodyn.output.figures.curves import display_table
from biodyn.output.figures.svg import standard_page_variables
from biodyn.output.figures.trial import TrialView
from biodyn.output.report.formatted_parameters import parameter_label
from biodyn.output.report.page import methods_text
from biodyn.output.report.sections.curves import explorer_data
from biodyn.output.report.trial_page import render_trial_report
from biodyn.output.store.record import to_json_values
from biodyn.output.store.result_writer import trial_view
from biodyn.output.tables import write_csv
from biodyn.settings import Settings


@pytest.fixture(scope="module")
def view():
    return trial_view(add_verdict(walker(unmeasured_l=slice(80, 120))))


@pytest.fixture(scope="module")
def page(view):
    return render_trial_report(view, view.figures_svg())


class _Page(HTMLParser):
    """Collects what a browser would fetch, and checks that elements close in order."""

    VOID = frozenset({"meta", "img", "br", "input", "link", "hr", "col"})

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.images: list[str] = []
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag not in self.VOID:
            self.open.append(tag)
        if "id" in values:
            self.ids.add(values["id"])
        for key in ("src", "srcset", "data", "poster", "action"):
            if values.get(key):
                (self.images if tag == "img" else self.fetched).append(values[key])
        if values.get("href"):
            (self.links if tag == "a" else self.fetched).append(values["href"])

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parsed(page: str) -> _Page:
    parser = _Page()
    parser.feed(page)
    assert parser.open == []
    return parser


def test_the_page_needs_no_network(page):
    seen = parsed(page)
    assert seen.fetched == []
    assert seen.images == []  # figures are drawn in the page itself
    assert "<image" not in page
    assert "url(" not in "".join(re.findall(r"<svg.*?</svg>", page, re.S))
    assert all(link.startswith("#") for link in seen.links)
    assert {link[1:] for link in seen.links} <= seen.ids
    style = "".join(re.findall(r"<style>(.*?)</style>", page, re.S))
    assert "url(" not in style
    assert "@import" not in style
    scripts = "".join(re.findall(r"<script>(.*?)</script>", page, re.S))
    for word in ("fetch(", "XMLHttpRequest", "import(", "WebSocket", "sendBeacon"):
        assert word not in scripts


def test_the_page_holds_every_figure_and_says_where_numbers_come_from(view, page):
    seen = parsed(page)
    over_cycle = {
        figure["name"] for figure in display_table()["figure"]
    }  # the page has small panels of their variables
    assert page.count('class="chart"') == len(view.figures) - len(over_cycle & view.figures.keys())
    drawn = {*standard_page_variables(), *(name for figure in display_table()["figure"] for name in figure["panels"])}
    by_plane = page.count("_power-")  # a cell of the page each
    assert by_plane
    assert page.count('class="panel"') == len(drawn & view.curves.keys()) + by_plane
    for name, figure in view.figures.items():
        if name in over_cycle:
            continue
        assert figure.title in page
        assert figure.caption
        assert str(escape(figure.caption)) in page
    text = " ".join(" ".join(seen.text).split())
    for words in (view.record["input"]["sha256"], "given by the user", "Not used: plate 1", "RMS", "Hicks"):
        assert words in text
    for check in view.record["checks"]:
        assert check["title"] in text
        assert check["text"] in text
    assert "Something <odd> was seen." in text
    assert "<odd>" not in page  # escaped in the source


def test_what_a_file_says_cannot_become_markup():
    walk = walker(frames=201)
    bad = "</script><script>alert(1)</script>"
    view = trial_view(add_verdict(replace(walk, subject=replace(walk.subject, name=bad))))
    assert "alert(1)</script>" not in render_trial_report(view, view.figures_svg())


def test_a_report_can_be_made_again_from_the_files(view, page, tmp_path):
    record = json.loads(json.dumps(view.record, allow_nan=False))
    back = {}
    for name, table in view.tables.items():
        write_csv(table, tmp_path / f"{name}.csv")
        back[name] = pd.read_csv(tmp_path / f"{name}.csv")
    np.savez(tmp_path / "result.npz", **view.arrays)
    with np.load(tmp_path / "result.npz", allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    again = TrialView(record, back, arrays)
    second = render_trial_report(again, again.figures_svg())
    assert words_of(second) == words_of(page)
    first_chart, second_chart = chart_of(page), chart_of(second)
    for one, two in zip(first_chart["variables"], second_chart["variables"], strict=True):
        step = 10.0 ** -one["digits"]  # the tables' five decimals may tip the chart's last one
        for side in ("r", "l"):
            means = [np.array(entry[side]["mean"], dtype=float) for entry in (one, two)]
            np.testing.assert_allclose(means[0], means[1], atol=1.01 * step)


def words_of(page: str) -> str:
    """The page without the places of what is drawn and without the chart's numbers: tables hold five decimals.

    Nor with the per cent at which a peak lies: with five decimals two neighbours may be equal.
    """
    drawn = re.sub(r"<(path|rect|circle|text) [^>]*>", r"<\1>", page)
    drawn = re.sub(r" at \d+ %|\(\d+\)</td>", "", drawn)
    drawn = re.sub(r"<desc>.*?</desc>", lambda said: re.sub(r"−?\d+(\.\d+)?", "", said[0]), drawn, flags=re.S)
    return re.sub(r"<script type=.application/json.*?</script>", "", drawn, flags=re.S)


def chart_of(page: str) -> dict:
    return json.loads(re.search(r"id=.explorer-data.>(.*?)</script>", page, re.S)[1])


def test_the_record_is_json_and_names_what_was_used(view):
    record = json.loads(json.dumps(view.record, allow_nan=False))
    assert record["input"]["first_frame"] == 17
    assert record["subject"]["mass_source"] == "given by the user"
    assert record["settings"] == Settings().model_dump(mode="json")
    assert record["world"]["R_WL"] == np.eye(3).tolist()
    assert record["gaps"]["count"] == {"spline": 1, "rigid": 0, "left": 1}
    assert record["gaps"]["longest_s"]["left"] == pytest.approx(0.61)
    assert record["contacts"][1]["side"] is None
    assert record["diagnostics"][0]["frames"] == [1, 3]
    assert {"biodyn", "numpy", "python"} <= set(record["versions"])


def test_json_ready_turns_what_json_cannot_say_into_null():
    given = {"a": np.nan, "b": np.array([1.0, np.inf]), "c": np.int64(3), "d": np.True_, "e": (Path("x"), None)}
    assert to_json_values(given) == {"a": None, "b": [1.0, None], "c": 3, "d": True, "e": ["x", None]}


def test_arrays_are_enough_to_replay(view):
    arrays = view.arrays
    walk = walker(unmeasured_l=slice(80, 120))
    assert arrays["q"].shape == (301, walk.model.multibody.nq)
    assert arrays["v"].shape == arrays["vdot"].shape == arrays["tau"].shape == (301, walk.model.multibody.nv)
    assert arrays["body_mass_kg"].sum() == pytest.approx(MASS_KG)
    assert arrays["foot_wrenches"].shape == (301, 2, 6)
    names = arrays["body_names"].tolist()
    assert [names[i] for i in arrays["foot_wrench_bodies"]] == [
        walk.model.sole_body[s] for s in arrays["sides"].tolist()
    ]
    assert not any(array.dtype == object for array in arrays.values())


# -- methods ----------------------------------------------------------------------------------------------------


def method_text(view: TrialView) -> str:
    return " ".join(text for _, text in methods_text(view.record).paragraphs)


def test_methods_say_what_ran_with_numbered_sources(view):
    written = methods_text(view.record)
    text = method_text(view)
    assert "low-pass filtered at 6 Hz" in text
    assert "same cut-off for both" in text
    assert "60.0 kg (given by the user)" in text
    assert "[[" not in text
    cited = {int(number) for group in re.findall(r"\[([\d, ]+)\]", text) for number in group.split(",")}
    assert cited == set(range(1, len(written.references) + 1))
    assert len(set(written.references)) == len(written.references)


def test_methods_follow_the_settings():
    walk = walker(frames=201)

    def text(**signals):
        return method_text(
            trial_view(add_verdict(replace(walk, settings=Settings.model_validate({"signals": signals}))))
        )

    assert "Signals were not filtered." in text(cutoff_hz=0)
    other = text(cutoff_hz=8, force_cutoff_hz=20)
    assert "at 8 Hz" in other
    assert "at 20 Hz" in other
    assert "same cut-off" not in other
    spline = text(method="spline")
    assert "smoothed by a quintic smoothing spline" in spline
    assert "was low-pass filtered at 6 Hz with a zero-lag Butterworth filter" in " ".join(spline.split())


def test_every_reference_is_cited_somewhere():
    templates = Path(str(methods_text.__code__.co_filename)).parent / "templates"
    words = "".join(path.read_text(encoding="utf-8") for path in templates.glob("*methods.txt.j2"))
    assert [key for key in load_table("report/references")["reference"] if key not in words] == []


def test_parameter_labels_end_in_their_unit():
    assert parameter_label("speed_m_s") == ("Speed", "m/s")
    assert parameter_label("stride_length_m") == ("Stride length", "m")
    assert parameter_label("cadence_steps_min") == ("Cadence", "steps/min")
    assert parameter_label("toe_out_deg") == ("Foot progression angle (toe-out +)", "degrees")


def test_the_chart_shows_nothing_where_nothing_is_known(view):
    from biodyn.output.figures.curves import curves_by_variable
    from biodyn.output.tables.gait import curves_of_cycles

    raw = view.tables["gait_cycles"].copy()
    name = str(raw["variable"].iloc[0])
    raw.loc[(raw["variable"] == name) & (raw["percent"] > 50), "value"] = np.nan
    entry = next(
        e
        for e in explorer_data(curves_by_variable(*curves_of_cycles(raw)), view.tables["spatiotemporal"])["variables"]
        if e["name"] == name
    )
    assert entry["r"]["mean"][51:] == [None] * 50
    assert None not in entry["r"]["mean"][:51]


# -- real -------------------------------------------------------------------------------------------------------


@pytest.mark.real
def test_a_real_walk_gives_a_whole_report(real_data):
    from biodyn.trial.run import analyse_trial

    analysis = analyse_trial(real_data / "gait/biomechzoo/HC002D/Straight/HC002D06.c3d")
    view = trial_view(add_verdict(analysis))
    parsed(render_trial_report(view, view.figures_svg()))
    json.dumps(view.record, allow_nan=False)
    cycles = view.tables["gait_cycles"]
    ankle = cycles[(cycles["variable"] == "ankle_angle_moment") & (cycles["unit"] == "Nm/kg")]
    peak = ankle.loc[ankle["value"].idxmin()]
    # Push-off of a healthy child: internal plantarflexion of 0.9-1.8 Nm/kg shortly before opposite foot strike.
    assert -1.8 < peak["value"] < -0.9
    assert 35 < peak["percent"] < 58
