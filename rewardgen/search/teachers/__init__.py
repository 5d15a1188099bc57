"""Teachers: who compares two episodes. One file each."""
