"""Which product a server is, by its own word of its version: the one place where that is read from it."""

from __future__ import annotations

import re
from typing import Literal

ProductName = Literal["mysql", "mariadb"]
"""The products that are told apart. Forks of MySQL (Percona Server) say the version that they come from."""

Release = tuple[int, int, int]
"""A version's numbers."""

FIRST: Release = (0, 0, 0)
"""Before any release: of a version without numbers."""


def product_of(version: str) -> ProductName:
    """The product, by what SELECT VERSION() or --version answers: MariaDB's contains its name."""
    return "mariadb" if "mariadb" in version.lower() else "mysql"


def release_of(version: str) -> Release:
    """Its numbers: (10, 5, 29) for "5.5.5-10.5.29-MariaDB", which old clients are told. FIRST for none."""
    numbers = re.search(r"(\d+)\.(\d+)\.(\d+)", version.removeprefix("5.5.5-"))
    return FIRST if numbers is None else (int(numbers[1]), int(numbers[2]), int(numbers[3]))
