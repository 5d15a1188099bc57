"""The loop over generations, strategies, judges, finals, and the life of a run."""
