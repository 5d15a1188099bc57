"""Designers: what proposes and repairs reward programs."""
