"""Trainers in worker processes, clean evaluation, policies, validation of results."""
