"""Facts of a run, made once for every page, screen and export."""
