"""Whether load clients agree, as a section."""
