"""Turns the numbers of a training into curves, flags and a written diagnosis."""
