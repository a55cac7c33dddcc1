"""`python -m biodyn.cli`."""

from biodyn.cli import main

main()
