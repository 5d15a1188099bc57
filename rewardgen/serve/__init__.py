"""A local server that shows runs while they go on."""
