"""The verdict of a trial: what decides, what only informs, and what a trial without an answer is called."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from support.synthetic import MASS_KG, UNMEASURED, walker, with_mass

from biodyn.analysis import TrialAnalysis
from biodyn.checks import add_verdict
from biodyn.checks.estimators.residual import FAIL_FACTOR, unobserved_segments_wrench_sd
from biodyn.checks.registry import checks_of_kind
from biodyn.checks.trial_facts import residual_limits
from biodyn.checks.verdict import verdict_of
from biodyn.diagnostics import STATUS_WORDS, Check, Diagnostic, worst_status
from biodyn.output.report.page import load_resource
from biodyn.output.report.sections.verdict import verdict_sentence
from biodyn.output.report.trial_page import render_trial_report
from biodyn.output.store.record import run_record
from biodyn.output.store.result_writer import trial_view
from biodyn.processing.signals.gaps import Gap
from biodyn.uncertainty.propagation_inputs import load_magnitudes

WEIGHT_N = MASS_KG * 9.80665


def by_code(analysis: TrialAnalysis) -> dict[str, Check]:
    verdict = add_verdict(analysis).verdict
    assert verdict is not None
    return {check.code: check for check in verdict.checks}


def standing() -> TrialAnalysis:
    """A person who stands in balance on a plate with each foot; nothing was noticed."""
    still = walker(moving=False, frames=60)
    contacts = tuple(replace(still.contacts[0], side=side) for side in ("r", "l"))
    fit = replace(still.fit, marker_error=0.1 * still.fit.marker_error)
    return replace(still, fit=fit, diagnostics=(), gaps=(), contacts=contacts)


def note(severity: str, code: str = "made-up") -> Diagnostic:
    return Diagnostic(code, severity, "Something was seen.", hint="Do something.")  # type: ignore[arg-type]


# -- the verdict ------------------------------------------------------------------------------------------------------


def test_what_passes_everything_passes() -> None:
    verdict = add_verdict(standing()).verdict
    assert verdict is not None
    assert verdict.status == "pass"
    assert verdict.causes == ()
    assert "pass" in verdict.sentence


@pytest.mark.parametrize(("severity", "status"), [("info", "pass"), ("warning", "warn"), ("error", "fail")])
def test_findings_colour_the_verdict_by_severity(severity: str, status: str) -> None:
    verdict = add_verdict(replace(standing(), diagnostics=(note(severity),))).verdict
    assert verdict is not None
    assert verdict.status == status
    assert [cause.code for cause in verdict.causes] == ([] if status == "pass" else ["made-up"])


def test_the_gravest_decides_and_comes_first() -> None:
    checks = [Check("a", "A", "pass", "."), Check("b", "B", "warn", "."), Check("c", "C", "not_assessed", ".")]
    verdict = verdict_of(checks, [note("error")])
    assert verdict.status == "fail"
    assert [cause.code for cause in verdict.causes] == ["made-up", "b"]
    assert verdict_of(checks, []).status == "warn"
    assert verdict_of(checks[::2], []).status == "pass"
    assert worst_status([]) == "pass"


def test_what_was_not_assessed_is_not_said_to_have_passed() -> None:
    checks = [{"title": "Gaps", "status": "not_assessed"}, {"title": "Pelvis residual force", "status": "pass"}]
    assert "Gaps" in verdict_sentence({"verdict": "pass", "checks": checks})
    assert verdict_sentence({"verdict": "pass", "checks": checks[1:]}) == "Every check passed."
    assert "Gaps" not in verdict_sentence({"verdict": "warn", "checks": checks})


def test_without_an_essential_check_a_trial_is_not_assessed() -> None:
    checks = [Check("a", "A", "pass", "."), Check("c", "C", "not_assessed", "No telling.", essential=True)]
    verdict = verdict_of(checks, [])
    assert verdict.status == "not_assessed"
    assert verdict.causes[0].text == "No telling."


def test_what_a_check_covers_is_told_once() -> None:
    verdict = verdict_of([Check("gaps", "Gaps", "warn", ".", covers=("marker-gap",))], [note("warning", "marker-gap")])
    assert [cause.code for cause in verdict.causes] == ["gaps"]


def test_the_verdict_is_a_value_of_the_analysis_and_the_record_repeats_it() -> None:
    analysis = add_verdict(replace(standing(), diagnostics=(note("warning"),)))
    record = run_record(analysis)
    assert record["verdict"] == "warn"
    assert [cause["code"] for cause in record["verdict_checks"]] == ["made-up"]
    assert record["verdict_checks"][0]["hint"]
    assert [check["code"] for check in record["checks"]] == [check.code for check in checks_of_kind("result")]
    assert "status" not in record


def test_every_check_that_does_not_pass_says_what_to_do() -> None:
    bad = walker(moving=False, frames=60, support={"r": 0.2, "l": 0.2}, unmeasured_l=slice(0, 30))
    bad = replace(bad, contacts=(), fit=replace(bad.fit, marker_error=5.0 * bad.fit.marker_error))
    failing = [check for check in by_code(bad).values() if check.status in ("warn", "fail")]
    assert len(failing) >= 4
    assert all(check.hint for check in failing)


# -- residual ---------------------------------------------------------------------------------------------------------


def test_a_person_who_stands_in_balance_passes() -> None:
    still = walker(moving=False, frames=60)
    checks = by_code(still)
    # At rest the ground carries the weight through the centre of mass: nothing is left over but rounding.
    assert np.nanmax(np.abs(still.dynamics.residual_force)) < 1e-6
    assert np.nanmax(np.abs(still.dynamics.residual_moment)) < 1e-6
    for code in ("residual-force", "residual-moment", "body-weight", "marker-fit"):
        assert checks[code].status == "pass"


def test_residual_limits_are_shares_of_the_ground_force_and_of_the_lever_of_the_weight() -> None:
    limits = residual_limits(walker(moving=False, frames=60))
    assert limits.peak_force_n == pytest.approx(WEIGHT_N)
    assert 0.5 < limits.com_height_m < 1.3
    assert limits.unseen_force_n == limits.unseen_moment_nm == 0.0
    assert limits.force_n == pytest.approx(0.05 * WEIGHT_N)
    assert limits.moment_nm == pytest.approx(0.01 * limits.com_height_m * WEIGHT_N + 0.02 * WEIGHT_N)
    assert limits.fail_force_n == pytest.approx(FAIL_FACTOR * limits.force_n)
    assert limits.fail_moment_nm == pytest.approx(FAIL_FACTOR * limits.moment_nm)


@pytest.mark.parametrize(
    ("support", "force", "weight"),
    [(0.5, "pass", "pass"), (0.47, "warn", "warn"), (0.44, "warn", "warn"), (0.40, "fail", "fail")],
)
def test_missing_support_shows_in_residual_and_weight(support: float, force: str, weight: str) -> None:
    """Plates that carry 6, 12 or 20 % less than body weight leave that share as residual; limits 5 % and 15 % of it."""
    still = walker(moving=False, frames=60, support={"r": support, "l": support})
    checks = by_code(still)
    assert checks["residual-force"].status == force
    assert checks["body-weight"].status == weight
    assert checks["body-weight"].value == pytest.approx(1.0 - 2.0 * support, abs=1e-9)
    assert np.allclose(still.dynamics.residual_force[:, 1], (1.0 - 2.0 * support) * WEIGHT_N)


def test_the_rms_decides_and_the_peak_informs() -> None:
    """One frame far beyond the limit of the RMS: told, and no more."""
    still = walker(moving=False, frames=60)
    spiked = np.zeros_like(still.dynamics.residual_force)
    spiked[30] = (0.0, 0.15 * WEIGHT_N, 0.0)
    found = by_code(replace(still, dynamics=replace(still.dynamics, residual_force=spiked)))["residual-force"]
    assert found.status == "pass"
    assert f"{0.15 * WEIGHT_N:.1f} N peak" in found.text


def test_nothing_measured_is_not_assessed() -> None:
    checks = by_code(walker(moving=False, frames=60, unmeasured_l=slice(0, 60)))
    for code in ("residual-force", "residual-moment", "body-weight"):
        assert checks[code].status == "not_assessed"


def test_a_cause_that_was_found_is_named_by_the_residual() -> None:
    light = walker(moving=False, frames=60, support={"r": 0.45, "l": 0.45})
    found = by_code(replace(light, diagnostics=(note("warning", "mass-mismatch"), note("info", "other"))))
    assert "Stated mass vs. force plates" in found["residual-force"].hint
    assert "Other" not in found["residual-force"].hint


def test_what_to_begin_with_is_looked_at_first() -> None:
    """A mass in pounds: the hint that says so stood behind three consequences, of which screen and report show three."""
    light = walker(moving=False, frames=60, support={"r": 0.2, "l": 0.2})
    verdict = add_verdict(replace(light, diagnostics=(note("warning", "mass-mismatch"),))).verdict
    assert verdict is not None
    assert verdict.causes[0].status == verdict.status == "fail"  # the gravest decide
    assert verdict.ordered_causes[0].code == "mass-mismatch"
    assert [cause.code for cause in verdict.ordered_causes[1:]] == [
        cause.code for cause in verdict.causes if cause.code != "mass-mismatch"
    ]


def test_what_nobody_saw_is_open_by_its_upright_twin() -> None:
    """A trunk fixed to a pelvis that tilts: the moment that is open is its weight times how far its centre is carried."""
    tilted = np.deg2rad(10.0)
    still = walker(moving=False, frames=200)
    root = still.model.skeleton.root.name
    trunk = next(b for b in still.model.bodies if b.definition.parent == root and not b.definition.side)
    subtree = [trunk.definition.name]
    for body in still.model.bodies:
        if body.definition.parent in subtree:
            subtree.append(body.definition.name)
    hidden = replace(still.model, locked_segments=tuple(subtree))
    # Everything turned about the pelvis by 10 degrees about Z (backwards): constant, so only gravity counts.
    c, s = np.cos(tilted), np.sin(tilted)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    turned = still.fit.configurations.copy()
    turned[:, 3:7] = np.cos(0.5 * tilted), 0.0, 0.0, np.sin(0.5 * tilted)
    fit = replace(still.fit, model=hidden, configurations=turned)
    force, moment = unobserved_segments_wrench_sd(fit, still.dynamics, load_magnitudes(), 1.0, 100.0)
    middle = slice(20, 180)
    np.testing.assert_allclose(force[middle], 0.0, atol=1e-6)
    # Centre of what is carried, upright, relative to the pelvis; joints of the template stand one above the other.
    mass = sum(b.inertia.mass for b in still.model.bodies if b.definition.name in subtree)
    centre = sum(
        b.inertia.mass * (still.fit.body_pose(b.definition.name)[1][0] - still.fit.body_pose(root)[1][0])
        for b in still.model.bodies
        if b.definition.name in subtree
    )
    lever = turn @ (centre / mass) - centre / mass
    expected = np.cross(lever, (0.0, mass * 9.80665, 0.0))
    np.testing.assert_allclose(moment[100], np.abs(expected), atol=1e-6)
    assert np.linalg.norm(expected) > 5.0
    seen_force, seen_moment = unobserved_segments_wrench_sd(still.fit, still.dynamics, load_magnitudes(), 1.0, 100.0)
    assert not seen_force.any()
    assert not seen_moment.any()


def test_limits_widen_by_what_nobody_saw_and_no_more() -> None:
    still = walker(moving=False, frames=200)
    names = tuple(b.definition.name for b in still.model.bodies if not b.definition.side and b.definition.parent)
    hidden = replace(still.model, locked_segments=names)
    turned = still.fit.configurations.copy()
    turned[:, 3:7] = np.cos(0.1), 0.0, 0.0, np.sin(0.1)
    limits = residual_limits(replace(still, fit=replace(still.fit, model=hidden, configurations=turned)))
    seen = residual_limits(still)
    assert limits.unseen_moment_nm > 1.0
    assert limits.moment_nm == pytest.approx(seen.moment_nm + limits.unseen_moment_nm, rel=0.05)  # another height
    own = limits.moment_nm - limits.unseen_moment_nm
    assert limits.fail_moment_nm - limits.unseen_moment_nm == pytest.approx(FAIL_FACTOR * own)
    assert limits.force_n == pytest.approx(seen.force_n + limits.unseen_force_n)


# -- markers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "status"), [(0.5, "pass"), (1.0, "pass"), (1.5, "pass"), (3.0, "warn"), (5.0, "fail")]
)
def test_marker_tracking_error_by_its_rms(scale: float, status: str) -> None:
    """10.9 mm RMS at scale 1 against limits of 20 and 40 mm; the largest, 30 mm, is told with its marker."""
    still = walker(moving=False, frames=60)
    error = np.full_like(still.fit.marker_error, 0.01)
    error[:, 0] = 0.03
    check = by_code(replace(still, fit=replace(still.fit, marker_error=scale * error)))["marker-fit"]
    assert check.status == status
    assert f"{30.0 * scale:.0f} mm max ({still.fit.labels[0]}" in check.text


@pytest.mark.parametrize(
    ("gap", "status"),
    [(Gap(0, 10, 80, "rigid"), "pass"), (Gap(0, 10, 40, "left"), "pass"), (Gap(0, 10, 80, "left"), "warn")],
)
def test_only_a_long_gap_that_was_left_warns(gap: Gap, status: str) -> None:
    still = walker(moving=False, frames=100)
    labels = still.fit.labels
    still = replace(still, mapping=replace(still.mapping, unknown=labels), gaps=(gap,))
    check = by_code(still)["gaps"]
    assert check.status == status
    assert check.value == (pytest.approx(71 / still.recording.markers.rate_hz) if status == "warn" else 0.0)
    assert (labels[0] in check.hint) == (status == "warn")


def test_frames_without_accelerations_fail() -> None:
    """A cut-off of 0.01 Hz leaves every pose and not one acceleration: nothing was answered."""
    still = walker(moving=False, frames=60)
    nothing = replace(still, fit=replace(still.fit, reliable=np.zeros(60, dtype=bool)))
    check = by_code(nothing)["solved"]
    assert check.status == "fail"
    assert "cutoff_hz" in check.hint


# -- plates -----------------------------------------------------------------------------------------------------------


def test_a_leg_that_was_never_measured_does_not_pass() -> None:
    """The right foot on a plate, the left one always on the floor: green in earlier versions."""
    half = walker(moving=False, frames=60, support={"r": 1.0, "l": 0.0}, unmeasured_l=slice(0, 60))
    half = replace(half, contacts=(half.contacts[0],), diagnostics=(), gaps=())
    checks = by_code(half)
    assert checks["coverage-right"].status == "pass"
    assert checks["coverage-left"].status == "warn"
    assert UNMEASURED in checks["coverage-left"].text
    assert "left" in checks["coverage-left"].hint
    verdict = add_verdict(half).verdict
    assert verdict is not None
    assert verdict.status == "warn"


def test_a_refused_contact_is_the_reason_of_its_leg() -> None:
    half = walker(moving=False, frames=60, unmeasured_l=slice(0, 60))
    refused = replace(half.contacts[1], side="l", reason="the foot extends 9 cm beyond the plate")
    check = by_code(replace(half, contacts=(half.contacts[0], refused)))["coverage-left"]
    assert "plate 1: the foot extends 9 cm beyond the plate" in check.text


def test_a_leg_nobody_saw_on_the_ground_is_not_assessed() -> None:
    still = walker(moving=False, frames=60)
    air = {"r": still.reaction.on_floor["r"], "l": np.zeros(60, dtype=bool)}
    checks = by_code(replace(still, reaction=replace(still.reaction, on_floor=air)))
    assert checks["coverage-left"].status == "not_assessed"


def test_without_a_contact_or_a_moment_a_trial_fails() -> None:
    still = walker(moving=False, frames=60)
    assert by_code(replace(still, contacts=()))["contacts"].status == "fail"
    assert by_code(still)["joint-moments"].status == "pass"
    none = replace(
        still.dynamics,
        torque_valid=np.zeros_like(still.dynamics.torque_valid),
        reason=("too few markers are visible",) * 60,
    )
    check = by_code(replace(still, dynamics=none))["joint-moments"]
    assert check.status == "fail"
    assert "too few markers are visible" in check.text


def test_mass_scales_the_limits_and_the_text() -> None:
    still = walker(moving=False, frames=60)
    assert "60.0 kg" in by_code(still)["body-weight"].text
    heavier = by_code(with_mass(still, 2.0 * MASS_KG))["body-weight"]
    assert "120.0 kg" in heavier.text


# -- how the four states are shown ------------------------------------------------------------------------------------


def _luminance(colour: str) -> float:
    """Relative luminance of #rrggbb (WCAG 2.1)."""
    parts = [int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


@pytest.mark.parametrize("status", list(STATUS_WORDS))
def test_every_state_can_be_read_on_paper_and_ground(status: str) -> None:
    style = str(load_resource("style.css"))
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", style))
    for ground in (colours["paper"], colours["ground"]):
        low, high = sorted((_luminance(colours[status]), _luminance(ground)))
        assert (high + 0.05) / (low + 0.05) >= 4.5  # WCAG 2.1 AA
    assert f".state.{status}" in style
    assert f".lamp.{status}" in style


def test_the_page_says_every_state_in_a_word() -> None:
    page = render_trial_report(trial_view(add_verdict(walker(frames=201, unmeasured_l=slice(80, 120)))), {})
    start = page.index('<section id="quality"')
    quality = page[start : page.index("</section>", page.index('<section id="checks"'))]
    states = re.findall(
        r'<span class="state (\w+)"><span class="lamp \1" aria-hidden="true"></span>([a-z ]+)</span>', quality
    )
    assert len(states) >= 11
    assert all(word == STATUS_WORDS[status] for status, word in states)  # type: ignore[index]


def test_a_pass_with_something_open_does_not_look_like_a_failed_check() -> None:
    passed, unknown = Check("a", "A", "pass", "."), Check("b", "B", "not_assessed", ".")
    assert verdict_of([passed, passed], []).sentence == "Verdict: pass (2 of 2 checks passed)"
    assert verdict_of([passed, unknown], []).sentence == "Verdict: pass (1 of 2 checks passed, 1 not assessed)"
