"""Whether different load clients say the same."""
