"""The loop over generations, strategies and judges, the finals on fresh seeds, the life of a run."""
