"""Command line over the Python interface: parse arguments, call one function, print its result.

Commands compute nothing. Imports inside commands are lazy, so that help answers at once.

- `exit_codes`: entry point `main`, exit codes, error messages, signals.
- `commands`: the command `biodyn` and its subcommands, in the order of the help.
- `run`: commands run and demo. `study`: commands study and session. `results`: commands that take a result folder. `inspect`:
  commands that show a file or the library. `open`: command open.
- `console_output`: console, progress line, summary of a result. `options`: options shared by several commands.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
