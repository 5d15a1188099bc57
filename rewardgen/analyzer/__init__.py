"""Turns training results into curves, flags of known failures and a written diagnosis."""
