"""Published figures and tables beside what was measured."""
