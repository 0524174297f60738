"""Speed, measured and printed, never asserted: `make bench` runs them all, one by its name."""
