"""mjlab's tasks."""
