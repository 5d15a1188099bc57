"""The search: the loop over generations, and the finals on fresh seeds."""
