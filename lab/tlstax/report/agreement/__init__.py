"""Whether load clients agree, as lines."""
