"""`tlstax inspect`: a server as it is from outside; what is shown meanwhile, and how it ends."""

from __future__ import annotations

from functools import partial

from tlstax.cli import quantities
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.external_servers import accessed
from tlstax.cli.progress import ProgressLine
from tlstax.cli.server_app import InspectOptions
from tlstax.cli.streams import show_found
from tlstax.support.errors import MachineFault
from tlstax.tools.inspection.inspection import inspect
from tlstax.topics.inspection.known_drivers import known_drivers
from tlstax.topics.inspection.text import inspection_text


def inspect_command(options: InspectOptions) -> int:
    """Inspect the server and show what was found; the exit status. MachineFault where it could not end."""
    watch_s = quantities.seconds(options.watch, "--watch")
    drivers = [] if options.client is None else list(quantities.names(options.client, "--client"))
    known_drivers().only(drivers)
    watcher = ProgressLine(quiet=options.json)
    try:
        with accessed(options.login.access(options.server or ""), watcher.step) as access:
            found = inspect(access, watch_s, watcher, drivers)
    finally:
        watcher.close()
    text = partial(inspection_text, found, has_all_lines=options.verbose or bool(drivers))
    show_found(found, text, as_json=options.json)
    if found.status == "failed":
        raise MachineFault(f"not everything was asked: {found.stopped_because}")
    return INTERRUPTED if found.status == "interrupted" else 0
