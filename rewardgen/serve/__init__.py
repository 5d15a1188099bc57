"""Runs as pages of a small server on this machine, which tells them when there is more to show."""
