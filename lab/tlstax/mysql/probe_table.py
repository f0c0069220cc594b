"""The table that probed drivers insert into."""

from __future__ import annotations

from tlstax.mysql import answers
from tlstax.mysql.database import Database


def make(admin: Database, name: str) -> None:
    """Make it anew and empty: an id that the server gives, and a word. Raises SqlError."""
    answers.carry_out(admin, f"DROP TABLE IF EXISTS {name}")
    answers.carry_out(admin, f"CREATE TABLE {name} (id INT AUTO_INCREMENT PRIMARY KEY, word VARCHAR(32))")
