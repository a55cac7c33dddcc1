"""Checks of the input data against each other, each finding with its likely cause."""
