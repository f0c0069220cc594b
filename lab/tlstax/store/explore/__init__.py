"""The store in a browser: its views and the README's questions with charts, read-only, on loopback alone."""
