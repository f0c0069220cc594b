"""`python -m tlstax`: the command line, guarded."""

from __future__ import annotations

import sys

from tlstax.cli.exit import guarded

statuses: list[int] = []


def _main() -> None:
    """The commands. What they know beforehand, such as the list of drivers, is read by importing them."""
    from tlstax.cli.app import main  # noqa: PLC0415

    statuses.append(main())


if __name__ == "__main__":
    sys.exit(guarded(_main) or statuses[0])
