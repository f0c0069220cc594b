"""Talking to a server in SQL, whichever product it is."""
