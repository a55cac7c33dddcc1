"""An analysis in another process is the same analysis; whatever becomes of that process, this one can do the work itself."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
from typer.main import get_command

from biodyn.cli.commands import app
from biodyn.cli.one_walk import ready_beside
from biodyn.cli.run import run
from biodyn.cli.words import COMMANDS
from biodyn.errors import SettingsError
from biodyn.kernels.watch import watched
from biodyn.output.store.loading import pieces
from biodyn.threads import is_processor_free
from biodyn.trial import beside as module
from biodyn.trial.beside import beside
from biodyn.trial.run import analyse_trial

SAMPLE = Path(__file__).parents[1] / "sample_data" / "subject01" / "walk01.c3d"
GIVEN: dict[str, Any] = {"settings": None, "preset": None, "entries": ("uncertainty.compute=false",)}

# A process that has nothing loaded yet, as the command line's; prints what it heard and the torques it was given.
ASKING = """
import pickle, sys
from biodyn.trial import beside as module
module.is_processor_free = lambda: True
heard, loaded = [], []
with module.beside() as other:
    assert "numpy" not in sys.modules
    found = other.analyse(__import__("pathlib").Path(sys.argv[1]), pickle.loads(bytes.fromhex(sys.argv[2])), heard.append,
                          [lambda: loaded.append("numpy")])
sys.stdout.buffer.write(pickle.dumps((found.dynamics.tau, found.diagnostics, found.verdict, heard, loaded)))
"""
SAYING = """
import pickle, sys, time
from biodyn.errors import SettingsError
from biodyn.trial import beside as b
out = sys.stdout.buffer
"""


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let a program of the test be the other process."""

    def use(code: str) -> None:
        def started() -> subprocess.Popen[bytes]:
            pipe = subprocess.PIPE
            return subprocess.Popen([sys.executable, "-c", SAYING + code], stdin=pipe, stdout=pipe, **module._GROUP)

        monkeypatch.setattr(module, "_started", started)

    return use


def asked(heard: list[str] | None = None) -> Any:
    """What comes back for the sample walk."""
    with beside() as process:
        assert process is not None
        return process.analyse(SAMPLE, GIVEN, [].append if heard is None else heard.append, [])


def test_arrays_are_sent_as_they_lie_in_memory() -> None:
    """Neither process holds them twice: a long trial has a gigabyte."""
    values = np.arange(1e6)
    arrays: list[pickle.PickleBuffer] = []
    content = pickle.dumps([values, values[::2]], protocol=5, buffer_callback=arrays.append)
    stream = BytesIO()
    module._send(stream, ("done", content), arrays)
    assert len(content) < 1.1 * values[::2].nbytes  # what does not lie in one piece goes along
    assert len(stream.getvalue()) < len(content) + values.nbytes + 1000
    stream.seek(0)
    (kind, received), memory = module._received(stream)
    again, half = pickle.loads(received, buffers=memory)
    assert kind == "done"
    np.testing.assert_array_equal(again, values)
    np.testing.assert_array_equal(half, values[::2])
    assert again.flags.writeable
    stream.truncate(len(stream.getvalue()) - 1)
    stream.seek(0)
    with pytest.raises(EOFError):
        module._received(stream)


def test_another_process_finds_the_same_to_the_last_bit() -> None:
    words = [sys.executable, "-c", ASKING, str(SAMPLE), pickle.dumps(GIVEN).hex()]
    done = subprocess.run(words, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    tau, diagnostics, verdict, heard, loaded = pickle.loads(done.stdout)
    shown: list[str] = []
    own = analyse_trial(SAMPLE, progress=shown.append, **GIVEN)
    assert tau.tobytes() == own.dynamics.tau.tobytes()
    assert (diagnostics, verdict, heard) == (own.diagnostics, own.verdict, shown)
    assert loaded == ["numpy"]


def test_everything_that_is_loaded_beforehand_is_there() -> None:
    for piece in pieces():
        piece()


def test_a_process_that_has_loaded_its_libraries_starts_none() -> None:
    with beside() as process:
        assert process is None


def test_what_is_told_on_the_way_is_heard_and_a_refusal_is_raised_with_its_hint(other: Callable[[str], None]) -> None:
    other(
        "b._send(out, (b._STEP, 'reading')); b._send(out, (b._SENTENCE, 'Compiling.'))\n"
        "b._send(out, (b._REFUSED, pickle.dumps(SettingsError('No.', 'Try this.'))))"
    )
    steps: list[str] = []
    told: list[str] = []
    with watched(told.append), pytest.raises(SettingsError) as refusal:
        asked(steps)
    assert (refusal.value.message, refusal.value.hint) == ("No.", "Try this.")
    assert (steps, told) == (["reading"], ["Compiling."])


@pytest.mark.parametrize("code", ["", "sys.exit(3)", "out.write(b'half')", "b._send(out, (b._NOT_HERE, None))"])
def test_without_an_answer_this_process_does_the_work(other: Callable[[str], None], code: str) -> None:
    other(code)
    assert asked() is None


def test_a_process_that_does_not_end_is_ended(other: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TIDYING_S", 0.1)
    other("b._send(out, (b._NOT_HERE, None)); time.sleep(60)")
    began = time.monotonic()
    assert asked() is None
    other("time.sleep(60)")
    with beside():  # and is asked nothing
        pass
    assert time.monotonic() - began < 30.0


# The other process with an analysis that does not end, and Ctrl-C ignored as in the background of a shell.
IGNORING = """
import pickle, signal, sys, time, types
signal.signal(signal.SIGINT, signal.SIG_IGN)
from biodyn.trial import beside as b
def analyse_trial(walk, progress, **given):
    try:
        progress("reading")
        for _ in range(600):
            time.sleep(0.05)
    finally:
        open(given["mark"], "w").close()
sys.modules["biodyn.trial.run"] = types.SimpleNamespace(analyse_trial=analyse_trial)
b.serve()
"""


def test_the_other_process_tidies_up_when_nobody_waits_for_it_even_where_it_was_started_to_ignore_ctrl_c(
    tmp_path: Path,
) -> None:
    mark, pipe = tmp_path / "tidied", subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", IGNORING], stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        module._send(process.stdin, (SAMPLE, {**GIVEN, "mark": str(mark)}))
        assert module._received(process.stdout) == ((module._STEP, "reading"), [])
        process.stdin.close()
        try:
            assert process.wait(20.0) == 0
        finally:
            process.kill()
    assert mark.exists()


def test_a_system_that_does_not_tell_its_load_is_taken_for_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    def unobtainable() -> None:
        raise OSError("Load averages are unobtainable")

    monkeypatch.setattr("os.getloadavg", unobtainable, raising=False)
    monkeypatch.setattr("biodyn.threads.processors", lambda: 2)
    assert is_processor_free()


# -- which words start it -----------------------------------------------------------------------------------------------

MISTAKEN = [
    ["run"],
    ["run", "nowhere.c3d"],
    ["run", "w" * 300],  # no system takes a name as long: it may not be asked whether it is there
    ["run", "."],
    ["run", str(SAMPLE), "--wrong"],
    ["run", str(SAMPLE), "--out"],
    ["run", str(SAMPLE), "--mass", "heavy"],
    ["run", str(SAMPLE), "--force=yes"],
    ["run", str(SAMPLE), str(SAMPLE)],  # analysed one after the other in this process
    ["run", str(SAMPLE), "--model=generic.osim"],
    ["run", str(SAMPLE), "--help"],
    ["demo", str(SAMPLE)],
    ["demo", "--pdf"],
    ["check", str(SAMPLE)],
    [],
]
RIGHT = [
    ["run", str(SAMPLE)],
    ["run", str(SAMPLE), "--mass", "70", "--set", "model.fit=none", "--set=output.report=false", "-q", "--force"],
    ["run", "--static-frames", "1-20", "--out=--there", "--", str(SAMPLE)],
    ["demo", "--out", "there", "--open"],
]


@pytest.mark.parametrize(("words", "starts"), [(w, False) for w in MISTAKEN] + [(w, True) for w in RIGHT])
def test_only_words_that_are_understood_start_another_process(
    words: list[str], starts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[None] = []
    monkeypatch.setattr(module, "_started", lambda: started.append(None))
    with ready_beside(words) as process:
        assert process is None
    assert len(started) == starts


def test_the_options_named_beforehand_are_those_of_the_commands() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]  # a group of commands
    for name, known in COMMANDS.items():
        options = [option for option in commands[name].params if option.param_type_name == "option"]
        names = {flag: {word for one in options if one.is_flag == flag for word in one.opts} for flag in (False, True)}
        assert known.valued == names[False]
        assert known.flags == names[True]
        assert known.takes_walk == any(one.param_type_name == "argument" for one in commands[name].params)
    types = get_type_hints(run)
    assert COMMANDS["run"].numbers == {f"--{name}" for name, kind in types.items() if kind == float | None}
