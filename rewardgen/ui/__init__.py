"""Rendering of runs in the terminal and in notebooks."""
