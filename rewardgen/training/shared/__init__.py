"""Parts of training that every trainer uses."""
