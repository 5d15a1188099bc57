"""The command line, one module per noun, loaded when called."""
