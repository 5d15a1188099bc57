"""Tasks: the contract that a task file meets, the card that describes it, and the checks on both."""
