"""Analyse every trial of a plan: each in a process that may crash, hang or run out of memory at its own cost only."""
