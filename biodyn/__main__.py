"""`python -m biodyn` runs the command `biodyn` if the folder of commands is not on the path."""

from biodyn.cli import main

main()
