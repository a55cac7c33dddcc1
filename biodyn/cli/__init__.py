"""The command line: one command a file, over the Python interface.

In: words of a terminal. Out: lines on it, result folders, and an exit code (`endings`). A command reads its arguments, calls
the function of `biodyn.trial` or `biodyn.study` that does the same from Python, and prints what that returns; it computes
nothing. Imports inside commands are lazy, so that help answers at once.

Read `run` first, with `several` (more than one walk in a call); `session`, `study`, `check`, `compare`, `replay`, `report`,
`export`, `unpack` and `models` are built like it; `norms` has two commands of its own; `demo` is `run` on the walk that biodyn
carries.
`options` are those that several commands have, `screen` is how commands print and show progress, `endings` how they end:
exit codes, one sentence for what cannot be done, signals, faults of the program itself. A new command is a function in a
file of its own and a line in `commands`, whose order is that of the help. `start` is the entry point.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
