"""The version of this copy: what the program says of itself everywhere, whether it is installed, editable or only copied."""

from typing import Final

VERSION: Final = "0.2.0.dev0"
