"""The local page: what it shows, writes and runs, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

import pytest
from support.browser import browser

import biodyn
from biodyn.io import read
from biodyn.study import Study
from biodyn.study.running.trial_analysis import RecordingCache, planned_trial_request

pytest.importorskip("starlette", reason="the extra 'app' is not installed")
pytest.importorskip("tomlkit", reason="the extra 'app' is not installed")
pytest.importorskip("httpx", reason="Starlette's test client needs it")

from starlette.testclient import TestClient

from biodyn.app.opened_folder import OpenedFolder
from biodyn.app.server import MAX_BODY_BYTES, make_application

_SAMPLES = Path(__file__).parents[2] / "sample_data"
_TOKEN = "secret-token"
_HOST = "http://127.0.0.1:8765"
_WALK = "P1/walk.c3d"


def _people(root: Path, count: int) -> Path:
    """Write a static trial and a walk of several people; further bytes make copies different recordings."""
    for number in range(count):
        folder = root / f"P{number + 1}"
        folder.mkdir(parents=True)
        sample = _SAMPLES / f"subject0{number % 2 + 1}"
        for source, name in (("static.c3d", "static.c3d"), (f"walk0{number // 2 + 1}.c3d", "walk.c3d")):
            (folder / name).write_bytes((sample / source).read_bytes() + bytes(512 * (number // 2)))
    return root


class _Page:
    """The page of a folder without a network."""

    def __init__(self, root: Path) -> None:
        served, self.app = make_application(OpenedFolder(root), _TOKEN, 8765)
        self.root, self.client = root, TestClient(served, base_url=_HOST)

    def get(self, name: str, /, **query: str) -> Any:
        return self.client.get(f"/{_TOKEN}/{name}", params=query)

    def post(self, address: str, /, origin: str | None = _HOST, **body: Any) -> Any:
        return self.client.post(f"/{_TOKEN}/{address}", json=body, headers={} if origin is None else {"origin": origin})

    def correct(self, kind: str, /, path: str = _WALK, **body: Any) -> Any:
        return self.post("correct", kind=kind, path=path, **{"reason": "seen on the video", **body})

    @property
    def definition(self) -> dict[str, Any]:
        place = self.root / "study.toml"
        return tomllib.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}


@pytest.fixture
def page(tmp_path: Path) -> _Page:
    return _Page(_people(tmp_path / "lab", 2))


def test_the_table_is_that_of_the_study(page: _Page) -> None:
    text = page.get("").text
    for file in Study.open(page.root).plan.files:
        assert file.path.as_posix() in text
    assert text.count("plug_in_gait_full") == 4
    assert "<th>Session</th>" not in text, "no recording has a session"
    new = page.get("recording", path=_WALK).text
    assert "Click a contact" not in new, "none is shown before the analysis"
    labels = re.findall(r"<option>(\w+)</option>", new)
    assert labels == sorted(labels)
    assert 'name="height_m" type="number" step="any" min="0" max="2.8"' in new


def test_a_recording_is_shown_in_3d_and_as_curves(page: _Page) -> None:
    assert "<canvas" in page.get("view", path=_WALK).text
    signals = page.get("signals", path=_WALK).json()
    assert len(signals["plates"]) == 3
    assert max(value for plate in signals["plates"] for value in plate["values"]) > 100


@pytest.mark.parametrize(
    ("correction", "section", "entry"),
    [
        ({"kind": "contact", "plate": 2, "from_s": 0.5, "side": "left"}, "contacts.override", {"plate": 2, "side": "left"}),
        (
            {"kind": "event", "side": "right", "event": "foot_off", "from_s": 1.0, "to_s": 1.02},
            "gait.override",
            {"event": "foot_off", "to_s": 1.02},
        ),
        ({"kind": "cycle", "side": "left", "start_s": 0.7}, "gait.leave_out", {"side": "left", "start_s": 0.7}),
    ],
)  # fmt: skip
def test_a_correction_is_an_entry_of_the_study(
    page: _Page, correction: dict[str, Any], section: str, entry: dict[str, Any]
) -> None:
    (page.root / "study.toml").write_text('name = "Lab"  # a comment\n')
    assert page.correct(correction.pop("kind"), **correction).status_code == 200
    first, second = section.split(".")
    (written,) = page.definition["trials"][_WALK]["settings"][first][second]
    assert entry.items() <= written.items()
    assert written["reason"] == "seen on the video"
    (trial,) = [t for t in Study.open(page.root).plan.trials if t.path == Path(_WALK)]
    assert trial.settings[first][second]
    assert "# a comment" in (page.root / "study.toml").read_text()
    assert page.post("undo").status_code == 200
    assert "trials" not in page.definition


def test_an_event_moved_twice_keeps_the_time_of_its_detection(page: _Page) -> None:
    event = {"side": "right", "event": "foot_strike"}
    page.correct("event", **event, from_s=1.0, to_s=1.1)
    page.correct("event", **event, from_s=1.1, to_s=1.05)
    (entry,) = page.definition["trials"][_WALK]["settings"]["gait"]["override"]
    assert (entry["from_s"], entry["to_s"]) == (1.0, 1.05)


def test_static_trial_markers_omission_and_decision_are_saved(page: _Page) -> None:
    assert page.correct("static", static="none").status_code == 200
    assert page.correct("marker", label="LTHI", new_label="RTHI", exchange="on").status_code == 200
    assert page.correct("review", decision="rejected", name="Dr. Ada").status_code == 200
    (entry,) = page.definition["trials"].values()
    assert entry["static"] == "none"
    assert entry["settings"]["model"]["marker_names"] == {"LTHI": "RTHI", "RTHI": "LTHI"}
    assert entry["review"] == {"decision": "rejected", "name": "Dr. Ada", "reason": "seen on the video"}
    (trial,) = [t for t in Study.open(page.root).plan.trials if t.path == Path(_WALK)]
    assert trial.rejected == "rejected by Dr. Ada: seen on the video"
    assert page.correct("leave_out").status_code == 200
    assert len(Study.open(page.root).plan.trials) == 1
    assert page.correct("leave_out", restore="1").status_code == 200
    assert len(Study.open(page.root).plan.trials) == 2


def test_marker_names_reach_the_static_trial(page: _Page) -> None:
    """A label that is wrong in both is renamed in both; an exchange in the static trial is entered on its own page."""
    assert page.correct("marker", label="LTHI", new_label="THIGH").status_code == 200
    assert page.correct("marker", "P1/static.c3d", label="LKNE", new_label="RKNE", exchange="on").status_code == 200
    plan = Study.open(page.root).plan
    (trial,) = [t for t in plan.trials if t.path == Path(_WALK)]
    files = planned_trial_request(trial, plan.root, RecordingCache()).read()
    walk, static = (read(page.root / "P1" / name).markers for name in ("walk.c3d", "static.c3d"))
    assert "THIGH" in files.walk.markers.labels
    assert files.static.markers.labels.index("THIGH") == static.index("LTHI")
    assert files.static.markers.index("RKNE") == static.index("LKNE")
    assert files.walk.markers.index("RKNE") == walk.index("RKNE")
    assert page.app.folder.study.plan.trials[1].static_marker_names == {}


def test_subject_data_go_beside_the_recordings_of_one_person(page: _Page) -> None:
    assert page.correct("subject", entries={"age_years": 31, "sex": "female", "height_m": ""}).status_code == 200
    record = tomllib.loads((page.root / "P1/subject.toml").read_text())
    assert record == {"age_years": 31, "sex": "female"}


def test_subject_data_of_a_shared_folder_go_into_the_study(tmp_path: Path) -> None:
    people = _people(tmp_path / "lab", 2)
    for person in ("P1", "P2"):
        for name in ("static", "walk"):
            shutil.move(people / person / f"{name}.c3d", people / f"{person}_{name}.c3d")
        (people / person).rmdir()
    page = _Page(people)
    assert page.correct("subject", path="P1_walk.c3d", entries={"age_years": 31}).status_code == 200
    assert page.definition["subjects"]["P1"]["settings"]["subject"] == {"age_years": 31}


@pytest.mark.parametrize(
    ("correction", "message"),
    [
        ({"kind": "contact", "plate": 2, "from_s": 0.5, "side": "both"}, "side"),
        ({"kind": "event", "side": "right", "event": "foot_off", "from_s": "soon"}, "not a number"),
        ({"kind": "static", "static": "P9/none.c3d"}, "P9/none.c3d"),
        ({"kind": "cycle", "side": "left", "start_s": 0.7, "reason": " "}, "reason"),
        ({"kind": "review", "decision": "accepted", "name": ""}, "name"),
        ({"kind": "subject", "entries": {"age_years": 300}}, "age_years"),
        ({"kind": "subject", "entries": {"__class__": 1}}, "__class__"),
        ({"kind": "format"}, "does not exist"),
    ],
)
def test_an_invalid_correction_changes_nothing(page: _Page, correction: dict[str, Any], message: str) -> None:
    answer = page.correct(correction.pop("kind"), **correction)
    assert answer.status_code == 400
    assert message in answer.json()["error"]
    assert list(page.root.rglob("*.toml")) == []


# -- attacks ----------------------------------------------------------------------------------------------------------


def test_other_origins_hosts_and_addresses_without_the_token_are_refused(page: _Page) -> None:
    for address in ("/", "/guess/", "/app.js", "/state", "/result/study.json", f"//{_TOKEN}/", f"/{_TOKEN}x/"):
        assert page.client.get(_HOST + address).status_code == 403
    assert page.post("run", origin="https://evil.example").status_code == 403
    assert page.post("run", origin="null").status_code == 403
    assert page.post("run", origin=None).status_code == 403
    assert page.client.get(f"/{_TOKEN}/", headers={"host": "evil.example"}).status_code == 403
    assert page.client.get(f"/{_TOKEN}/", headers={"origin": "http://127.0.0.1:1"}).status_code == 403
    assert not page.app.job.is_running


@pytest.mark.parametrize("path", ["../secret.c3d", "/etc/passwd", "P1/../../secret.c3d", "P1/notes.txt", "", "\0"])
def test_no_file_outside_of_the_folder_is_served(page: _Page, path: str) -> None:
    (page.root.parent / "secret.c3d").write_bytes((page.root / _WALK).read_bytes())
    (page.root / "P1/notes.txt").write_text("private")
    for name in ("view", "signals", "recording", "report"):
        assert "There is no such recording" in page.get(name, path=path).text or name == "report"
    assert page.correct("leave_out", path=path).status_code == 400
    for name in ("..%2f..%2fP1%2fnotes.txt", "..%2f..%2f..%2fsecret.c3d", "%2fetc%2fpasswd"):
        assert page.client.get(f"/{_TOKEN}/result/{name}").status_code == 404


def test_links_do_not_lead_out_of_the_folder(page: _Page, tmp_path: Path) -> None:
    (tmp_path / "secret.html").write_text("private")
    out = page.app.folder.results_folder
    out.mkdir(parents=True)
    (out / "report.html").symlink_to(tmp_path / "secret.html")
    assert page.client.get(f"/{_TOKEN}/result/report.html").status_code == 404


def test_large_and_malformed_requests_are_refused(page: _Page) -> None:
    address, headers = f"/{_TOKEN}/correct", {"origin": _HOST}
    assert page.client.post(address, content=b"x" * (MAX_BODY_BYTES + 1), headers=headers).status_code == 413
    chunks = iter([b" " * 1000] * 1000)
    assert page.client.post(address, content=chunks, headers=headers).status_code == 413
    for content in (b"[", b"[1]", b"[" * 60_000, b"\xff"):
        assert page.client.post(address, content=content, headers=headers).status_code == 400


def test_hostile_names_are_text(tmp_path: Path) -> None:
    root = _people(tmp_path / "lab", 1)
    name = "<img src=x onerror=alert(1)>'\".c3d"
    (root / "P1/walk.c3d").rename(root / "P1" / name)
    page = _Page(root)
    for text in (page.get("").text, page.get("recording", path=f"P1/{name}").text):
        assert "<img" not in text
    assert page.correct("review", f"P1/{name}", decision="accepted", name="</script>'\"\n[x]").status_code == 200
    assert page.definition["trials"][f"P1/{name}"]["review"]["name"] == "</script>'\"\n[x]"
    assert "</script>'" not in page.get("recording", path=f"P1/{name}").text
    policy = page.get("view", path=f"P1/{name}").headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in policy


# -- runs -------------------------------------------------------------------------------------------------------------


def _files(folder: Path) -> dict[str, bytes]:
    return {
        place.relative_to(folder).as_posix(): place.read_bytes()
        for place in sorted(folder.rglob("*"))
        if place.is_file() and place.name != ".running"
    }


@contextmanager
def _served(root: Path, *options: str, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `biodyn open` on a folder; address and process."""
    command = [sys.executable, "-m", "biodyn", "open", str(root), *(options or ("--no-browser",))]
    with (
        (root.parent / "log").open("w") as log,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **environment}
        ) as server,
    ):
        try:
            assert server.stdout is not None
            address = re.search(r"http\S+", server.stdout.readline())
            assert address is not None
            yield address[0], server
        finally:
            server.terminate()


def _ask(address: str, name: str, **body: Any) -> Any:
    """Return the answer to a request with a body, or to one without."""
    headers = {"Origin": address.rpartition("/")[0].rpartition("/")[0]}
    data = json.dumps(body).encode() if body else None
    with urlopen(Request(address + name, data, headers), timeout=60) as answer:
        text = answer.read().decode()
    return json.loads(text) if text.startswith("{") else text


def _until(condition: Callable[[], Any], seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
def test_another_user_of_the_machine_is_refused_and_does_not_learn_the_token(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as open_folder:
        base = Path(open_folder)
        base.chmod(0o755)
        root, opened, script = _people(base / "lab", 1), base / "opened", base / "browser"
        (root / "study.toml").write_text("")
        (root / "study.toml").chmod(0o600)
        (root / ".study.toml.part").symlink_to(tmp_path / "victim")
        script.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
        script.chmod(0o755)
        with _served(root, "--browser", BROWSER=f"{script} %s", TMPDIR=open_folder) as (address, _):
            _until(lambda: opened.is_file() and opened.read_text().strip(), 60)
            start, token = Path(unquote(urlsplit(opened.read_text().strip()).path)), address.split("/")[-2]
            assert token in start.read_text()
            assert _ask(address, "correct", kind="leave_out", path=_WALK, reason="fell") == {"saved": True}
            names = ("", "state", "app.js", "result/study.json", f"{'x' * len(token)}/", f"{'x' * len(token)}/run")
            addresses = [address.split(token)[0] + name for name in names]
            assert _as_nobody(lambda: [_status(one, data) for one in addresses for data in (None, b"{}")]) == [403] * 12
            places = [base, *Path("/proc").glob("[0-9]*/cmdline"), *Path("/proc").glob("[0-9]*/environ")]
            assert _as_nobody(lambda: [str(place) for place in places if _holds(place, token)]) == []
            assert _holds(base, token), "the owner finds it"
        assert (root / "study.toml").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "victim").exists()


def _as_nobody(question: Callable[[], list[Any]]) -> list[Any]:
    """Return the answer of a process of the user nobody."""
    import pwd

    user, (reading, writing) = pwd.getpwnam("nobody"), os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
            os.write(writing, json.dumps(question()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return list(json.loads(text))


def _status(address: str, data: bytes | None) -> int:
    """Return the status of the answer to a request."""
    try:
        with urlopen(Request(address, data, {"Origin": "/".join(address.split("/")[:3])}), timeout=60) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def _holds(place: Path, token: str) -> bool:
    """Return whether a file, or any file below a folder, can be read and contains the token."""
    for file in place.rglob("*") if place.is_dir() else [place]:
        with suppress(OSError):
            if token.encode() in file.read_bytes():
                return True
    return False


@pytest.mark.slow
def test_a_new_file_is_analysed_when_it_is_complete(tmp_path: Path) -> None:
    root = _people(tmp_path / "lab", 1)
    content = (_SAMPLES / "subject01" / "walk02.c3d").read_bytes()
    with _served(root) as (address, _):
        _ask(address, "watch", on=True)
        time.sleep(3)  # the first look
        with (root / "P1/new.c3d").open("wb") as copy:
            for half in (content[: len(content) // 2], content[len(content) // 2 :]):
                copy.write(half)
                copy.flush()
                time.sleep(4)
                assert not _ask(address, "state")["total"]
        _until(lambda: _ask(address, "state")["outcomes"])
        _until(lambda: not _ask(address, "state")["running"])
        outcomes = _ask(address, "state")["outcomes"]
    assert [(one["trial"], one["status"]) for one in outcomes] == [("new", "pass")]
    assert not (root / "reports/lab/trials/P1/walk").exists()


@pytest.mark.slow
def test_a_killed_server_loses_nothing_and_a_run_leaves_the_page_responsive(tmp_path: Path) -> None:
    noticeable_s = 1.0  # a longer wait interrupts a person's thought (Nielsen 1993)
    root = _people(tmp_path / "lab", 4)
    waits: list[float] = []
    with _served(root) as (address, server):
        _ask(address, "correct", kind="cycle", path=_WALK, side="left", start_s=0.25, reason="stumbled")
        _ask(address, "run", all=True)
        while not _ask(address, "state")["outcomes"]:
            for name in ("state", "", f"recording?path={_WALK}"):
                begin = time.monotonic()
                _ask(address, name)
                waits.append(time.monotonic() - begin)
            time.sleep(0.3)
        server.kill()
    assert sorted(waits)[len(waits) // 2] < noticeable_s
    with _served(root) as (address, _):
        assert "stumbled" in _ask(address, f"recording?path={_WALK}")
        _ask(address, "run", all=True)
        _until(lambda: _ask(address, "state")["done"] == 4)
        _until(lambda: not _ask(address, "state")["running"])
        assert _ask(address, "state")["error"] == ""
        assert any(one["kept"] for one in _ask(address, "state")["outcomes"])
    assert not [place for place in root.rglob(".*") if place.name != ".running"]


@pytest.mark.slow
def test_laboratory_without_programmers(tmp_path: Path) -> None:
    """Give age and sex, correct contact, event and cycle, run, accept and export in a browser; compare with the study."""
    root = _people(tmp_path / "lab", 4)
    with _served(root) as (address, _), browser(tmp_path) as tab:

        def go(place: str) -> None:
            tab.send("Page.navigate", url=address + place)
            until("document.readyState === 'complete' && !!document.querySelector('footer')")

        def until(condition: str, seconds: float = 60.0) -> None:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                try:
                    if tab.run(condition):
                        return
                except RuntimeError:  # the page is being loaded
                    pass
                time.sleep(0.2)
            raise AssertionError(f"{condition}: {tab.run('document.body.innerText')}")

        def saved(action: str) -> None:
            tab.run(f"document.body.dataset.old = '1'; {action}; 1")
            tab.run("document.getElementById('reason').value = 'seen on the video'")
            tab.run("document.querySelector('#why[open] button.main')?.click()")
            until("!document.body.dataset.old && document.getElementById('message').className === 'good'")

        def run_all() -> None:
            go("")
            tab.run("document.body.dataset.old = '1'; document.querySelector('button.main').click()")
            until("!document.body.dataset.old", 600.0)  # with the compilation of the kernels

        go("")
        assert tab.run("document.querySelectorAll('#recordings tbody tr').length") == 8
        go("recording?path=P1/walk.c3d")
        saved(
            "document.querySelector('[name=age_years]').value = 31; document.querySelector('[name=sex]').value = 'female';"
            "document.querySelector('[data-kind=subject] button').click()"
        )
        run_all()
        go("recording?path=P1/walk.c3d")
        until("!!document.querySelector('.contact')")
        tab.run("document.querySelector('.contact').dispatchEvent(new MouseEvent('click'))")
        saved("document.querySelector('.choice button[data-side=none]').click()")
        until("!!document.querySelector('.event')")
        saved(
            "(() => { const e = document.querySelector('.event'), b = e.getBoundingClientRect(), x = b.left + b.width / 2;"
            "e.setPointerCapture = () => {}; const fire = (kind, dx) => e.dispatchEvent(new PointerEvent(kind,"
            "{clientX: x + dx, clientY: b.top})); fire('pointerdown', 0); fire('pointermove', 6); fire('pointerup', 6); })()"
        )
        until("!!document.querySelector('.cycle')")
        saved("document.querySelector('.cycle').dispatchEvent(new MouseEvent('click'))")
        run_all()
        go("recording?path=P2/walk.c3d")
        saved(
            "document.querySelector('[data-kind=review] [name=name]').value = 'Ada';"
            "document.querySelector('[data-kind=review] [name=reason]').value = 'good';"
            "document.querySelector('button[value=accepted]').click()"
        )
        tab.run("document.querySelector('[data-export=xlsx]').click()")
        until("document.getElementById('message').innerText.includes('xlsx')", 120.0)
        assert not tab.console
    entry = tomllib.loads((root / "study.toml").read_text())["trials"]
    assert set(entry["P1/walk.c3d"]["settings"]) == {"contacts", "gait"}
    assert entry["P2/walk.c3d"]["review"]["decision"] == "accepted"
    assert list((root / "reports/exports").rglob("*.xlsx"))
    study = Study.open(root)
    events = biodyn.load(root / "reports/lab/trials/P1/walk").events
    (moved,) = entry["P1/walk.c3d"]["settings"]["gait"]["override"]
    assert (events["time_s"] - moved["to_s"]).abs().min() < 1e-3
    study.run(root / "reports/lab")  # the decision changes study.json
    study.run(root / "reports/again")
    assert _without_times(_files(root / "reports/lab")) == _without_times(_files(root / "reports/again"))


def _without_times(files: dict[str, bytes]) -> dict[str, Any]:
    """Return the files without the timings of run.json and the digest over them: two runs of one command differ in these only."""
    result: dict[str, Any] = dict(files)
    for name, content in files.items():
        if name.endswith("run.json"):
            result[name] = {k: v for k, v in json.loads(content).items() if k not in ("timings_s", "record_sha256")}
    return result
