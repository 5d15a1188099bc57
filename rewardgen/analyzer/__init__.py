"""What training showed of a candidate, as a table, flags and a written diagnosis."""
