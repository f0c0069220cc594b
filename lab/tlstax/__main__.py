"""`python -m tlstax`: the command line, guarded."""

from __future__ import annotations

import sys

from tlstax.cli.exit import guarded

statuses: list[int] = []


def _main() -> None:
    """The commands. What they know beforehand, such as the list of drivers, is read by importing them."""
    from tlstax.cli.app import main  # noqa: PLC0415

    statuses.append(main())


def start() -> int:
    """The exit status of the command line; what an installed wheel's `tlstax` calls."""
    return guarded(_main) or statuses[0]


if __name__ == "__main__":
    sys.exit(start())
