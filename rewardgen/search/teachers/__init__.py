"""Teachers: who compares two episodes. A file for each kind."""
