"""Files for people: the HTML report, pages that compare, README and cards of a run."""
