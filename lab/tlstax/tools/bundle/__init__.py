"""A bundle: all that tlstax needs on a machine that reaches nothing, in one file."""
