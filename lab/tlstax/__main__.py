"""`python -m tlstax`: the command line, guarded."""

from __future__ import annotations

import signal
import sys

from tlstax.cli.completion.names import WORD, print_names

statuses: list[int] = []


def _main() -> None:
    """The commands. What they know beforehand, such as the list of drivers, is read by importing them."""
    from tlstax.cli.app import main  # noqa: PLC0415

    statuses.append(main())


def start() -> int:
    """The exit status of the command line; what an installed wheel's `tlstax` calls."""
    if sys.argv[1:2] == [WORD]:
        return print_names(sys.argv[2:])
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until `guarded` has a handler of its own nothing is begun: Ctrl-C ends it without a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tlstax.cli.exit import guarded  # noqa: PLC0415

    return guarded(_main) or statuses[0]


if __name__ == "__main__":
    sys.exit(start())
