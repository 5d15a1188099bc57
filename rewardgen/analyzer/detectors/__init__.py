"""Detectors of the known ways in which rewards fail, by theme."""
