"""Errors, configuration, files, statistics, registries. No torch, no simulator."""
