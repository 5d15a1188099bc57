"""Benchmarks that anyone can run: ours against the machine's limit and against what a user would pick instead."""
