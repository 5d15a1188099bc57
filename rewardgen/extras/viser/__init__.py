"""Policies in the browser, in three dimensions."""
