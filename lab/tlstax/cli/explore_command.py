"""`tlstax runs explore`: the store in a browser, until Ctrl-C."""

from __future__ import annotations

import os
from contextlib import suppress

from tlstax.cli.kept import open_store
from tlstax.cli.streams import show
from tlstax.cli.tabulate import write_missing
from tlstax.support.errors import Interrupted, MachineFault, UserMistake


def explore_command(port: int) -> int:
    """Write rows that are missing, serve, and say where; the exit status.

    UserMistake for a store without a run, MachineFault for one that cannot be used.
    """
    try:
        from tlstax.explore.serving import serve
    except ImportError as error:
        raise MachineFault(
            "pages are made by Datasette, which is not installed here",
            remedy="start `./tlstax runs explore`: the launcher installs it",
        ) from error
    with open_store() as store:
        if not store.runs():
            raise UserMistake("there is no run in the store yet", remedy="`tlstax run` makes one")
        write_missing(store)
        # Closed last, the store takes the files of its log with it.
        with suppress(Interrupted):
            serve(store.path, port, lambda at: show(f"{at}\n{store.path}, read-only; Ctrl-C ends it\n"))
    return os.EX_OK
