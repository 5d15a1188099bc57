"""The task contract, loading of task files, the card that describes a task, and the checks on both."""
