"""`tlstax inspect`: a server as it is from outside; what is shown meanwhile, and how it ends."""

from __future__ import annotations

from functools import partial

from tlstax.cli import quantities
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.lent_server import accessed
from tlstax.cli.progress import ProgressLine
from tlstax.cli.streams import show_found
from tlstax.guests.access import GuestOptions
from tlstax.inspection.inspection import inspect
from tlstax.support.errors import MachineFault
from tlstax.topics.inspection.known_drivers import known_drivers
from tlstax.topics.inspection.text import inspection_text


def inspect_command(
    options: GuestOptions, watch: str, clients: str | None, *, verbose: bool, as_json: bool
) -> int:
    """Inspect the server and show what was found; the exit status. MachineFault where it could not end."""
    watch_s = quantities.seconds(watch, "--watch")
    drivers = [] if clients is None else list(quantities.names(clients, "--client"))
    known_drivers().only(drivers)
    watcher = ProgressLine(quiet=as_json)
    try:
        with accessed(options, watcher.step) as access:
            found = inspect(access, watch_s, watcher, drivers)
    finally:
        watcher.close()
    text = partial(inspection_text, found, has_all_lines=verbose or bool(drivers))
    show_found(found, text, as_json=as_json)
    if found.status == "failed":
        raise MachineFault(f"not everything was asked: {found.stopped_because}")
    return INTERRUPTED if found.status == "interrupted" else 0
