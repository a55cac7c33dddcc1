"""An analysis in a process of its own, while this one loads what its result is written with.

A command that begins with nothing loaded spends half of its time on libraries: those of the analysis, and those of tables,
figures and pages, which no analysis needs. Two processors load them side by side. The other process runs the same function
with the same arguments; what it finds comes back as it is, to the last bit.

In: what `run_trial` takes. Out: a `TrialAnalysis`, or None where this process has to do the work itself: the other one could
not be started, died, met what no one foresaw (then it is met here again, and told), or the walk is one for an OpenSim model.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NoReturn

from biodyn.errors import BiodynError
from biodyn.kernels.watch import tell, watched
from biodyn.threads import is_processor_free, kill_group, may_start_python, start_python

if TYPE_CHECKING:
    from biodyn.analysis import TrialAnalysis

_LENGTH_BYTES: Final = 8
_TIDYING_S: Final = (
    5.0  # for the other process to end what it does, a kernel's compilation at most; then all are killed
)
_GROUP: Final[dict[str, Any]] = {"process_group": 0} if os.name == "posix" else {}
# Kinds of messages: a step begins, a sentence for the person who waits, and the last one of three.
_STEP, _SENTENCE, _DONE, _REFUSED, _NOT_HERE = "step", "sentence", "done", "refused", "not here"


class Beside:
    """The other process: it loads what an analysis needs as soon as it is there, and waits for what to analyse."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._is_asked = False

    def analyse(
        self,
        walk: Path,
        given: Mapping[str, Any],
        progress: Callable[[str], None],
        load: Iterable[Callable[[], object]],
    ) -> TrialAnalysis | None:
        """Return the analysis of a walk; what could not be done is raised as there.

        Parameters: `given` to `analyse_trial` beside the walk; `progress` hears the steps; `load`: called here meanwhile, one
        after the other.
        """
        assert self._process.stdin is not None
        self._is_asked = True
        try:
            _send(self._process.stdin, (walk, dict(given)))
        except OSError:  # it is gone
            return None
        ended = threading.Event()
        with ThreadPoolExecutor(max_workers=1) as loader:
            loading = loader.submit(_each, load, ended)
            try:
                kind, content, arrays = self._heard(progress)
            finally:
                ended.set()
        if kind == _REFUSED:
            raise pickle.loads(content)
        loading.result()
        return pickle.loads(content, buffers=arrays) if kind == _DONE else None

    def end(self) -> None:
        """End it and what it started: it tidies up when its input ends, and is killed if that takes long."""
        if not self._is_asked:  # nothing to tidy up
            self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # it was gone before all was written
                stream.close()  # type: ignore[union-attr]  # both are pipes
        try:
            self._process.wait(_TIDYING_S)
        except subprocess.TimeoutExpired:
            kill_group(self._process)
            self._process.wait()

    def _heard(self, progress: Callable[[str], None]) -> tuple[str, Any, list[bytearray]]:
        """Pass on what is told on the way; returns the last message with its arrays."""
        assert self._process.stdout is not None
        while True:
            try:
                (kind, content), arrays = _received(self._process.stdout)
            except EOFError:
                return _NOT_HERE, None, []
            if kind == _STEP:
                progress(content)
            elif kind == _SENTENCE:
                tell(content)
            else:
                return kind, content, arrays


def _each(pieces: Iterable[Callable[[], object]], ended: threading.Event) -> None:
    for piece in pieces:
        if ended.is_set():  # what is left is loaded where it is needed
            return
        piece()


@contextmanager
def beside() -> Iterator[Beside | None]:
    """Start the other process; None where it would win nothing. It has ended when the block has."""
    process = _started()
    if process is None:
        yield None
        return
    other = Beside(process)
    try:
        yield other
    finally:
        other.end()


def _started() -> subprocess.Popen[bytes] | None:
    if "numpy" in sys.modules or not is_processor_free() or not may_start_python():
        return None
    code = f"from {__name__} import serve; serve()"
    pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
    try:
        return start_python(code, stdin=pipe, stdout=pipe, stderr=quiet, **_GROUP)
    except OSError:  # no further process is allowed
        return None


def _send(stream: IO[bytes], message: Any, arrays: Sequence[pickle.PickleBuffer] = ()) -> None:
    """Write a message, and the memory of arrays behind it as it lies there: a long trial has a gigabyte."""
    memory = [array.raw() for array in arrays]
    content = pickle.dumps((message, [len(one) for one in memory]), protocol=5)
    stream.write(len(content).to_bytes(_LENGTH_BYTES, "little"))
    stream.write(content)
    for one in memory:
        stream.write(one)
    stream.flush()


def _received(stream: IO[bytes]) -> tuple[Any, list[bytearray]]:
    """The next message and the arrays behind it; EOFError where none comes."""
    message, sizes = pickle.loads(_read(stream, int.from_bytes(_read(stream, _LENGTH_BYTES), "little")))
    return message, [_read(stream, size) for size in sizes]


def _read(stream: IO[bytes], size: int) -> bytearray:
    content = bytearray(size)
    if stream.readinto(content) < size:  # type: ignore[attr-defined]  # both ends are buffered
        raise EOFError
    return content


# -- the other process --------------------------------------------------------------------------------------------------


def serve() -> NoReturn:
    """Analyse one walk for the process that started this one, and end."""
    answers, questions = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)  # what libraries print goes to nowhere
    # a shell lets what runs in the background ignore Ctrl-C, and this process would ignore its end with it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        from biodyn.trial import run  # what takes long, before anything is asked

        (walk, given), _ = _received(questions)
        threading.Thread(target=_end_with_the_parent, args=(questions,), daemon=True).start()
        message, arrays = _answer(run, walk, given, answers)
        _send(answers, message, arrays)
    finally:
        os._exit(0)  # nothing is left to be tidied up but memory; what failed fails again where it can be told


def _answer(
    run: Any, walk: Path, given: Mapping[str, Any], answers: IO[bytes]
) -> tuple[tuple[str, Any], list[pickle.PickleBuffer]]:
    """What is said last, and the arrays that belong to it."""
    from biodyn.settings import settings_from
    from biodyn.trial.files import needs_model

    try:
        options = settings_from(given["settings"], given["preset"], given["entries"])
        if needs_model(walk) or options.model.osim is not None:
            return (_NOT_HERE, None), []
        with watched(lambda sentence: _send(answers, (_SENTENCE, sentence))):
            found = run.analyse_trial(walk, **given, progress=lambda name: _send(answers, (_STEP, name)))
    except BiodynError as error:
        return (_REFUSED, pickle.dumps(error)), []
    arrays: list[pickle.PickleBuffer] = []
    return (_DONE, pickle.dumps(found, protocol=5, buffer_callback=arrays.append)), arrays


def _end_with_the_parent(questions: IO[bytes]) -> None:
    """Let this process end as by Ctrl-C when nobody waits for it any more."""
    import _thread

    questions.read(1)
    _thread.interrupt_main()
