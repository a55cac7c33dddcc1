"""The version of this copy of the program, whether it is installed, editable or only copied."""

from typing import Final

VERSION: Final = "0.2.0.dev0"
