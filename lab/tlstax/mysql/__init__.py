"""Talking to a server in SQL: its connection, answers, tables, accounts, counters, what it says of TLS."""
