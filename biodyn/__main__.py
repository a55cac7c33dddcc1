"""`python -m biodyn` is the command `biodyn`, where no folder of commands is on the path."""

from biodyn.cli import main

main()
