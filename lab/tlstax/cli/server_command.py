"""`tlstax inspect` and `advise`: looking at a server, and what to change there."""

from __future__ import annotations

from contextlib import closing
from functools import partial

from tlstax.cli import quantities
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.external_servers import accessed
from tlstax.cli.progress import ProgressLine
from tlstax.cli.server_app import AdviseOptions, InspectOptions
from tlstax.cli.streams import check_writable, format_of_name, show_found, write_text
from tlstax.cli.target_servers import is_of_postgresql
from tlstax.report.page.html import advice_html
from tlstax.store import open_store
from tlstax.support import interruption
from tlstax.support.errors import MachineFault
from tlstax.tools.advice import AdviceRequest, advise
from tlstax.tools.inspection import inspect
from tlstax.topics.advice.redact import redacted
from tlstax.topics.advice.sections import advice_text
from tlstax.topics.inspection.known_drivers import known_drivers
from tlstax.topics.inspection.text import inspection_text


def inspect_command(options: InspectOptions) -> int:
    """Inspect the server and show what was found; the exit status. MachineFault where it could not end."""
    watch_s = quantities.seconds(options.watch, "--watch")
    drivers = [] if options.client is None else list(quantities.names(options.client, "--client"))
    known_drivers("postgresql" if is_of_postgresql(options.server) else "mysql").only(drivers)
    with (
        closing(ProgressLine(quiet=options.json)) as watcher,
        accessed(options.login.access(options.server or ""), watcher.step) as access,
    ):
        found = inspect(access, watch_s, watcher, drivers)
    interruption.forget()
    text = partial(inspection_text, found, has_all_lines=options.verbose or bool(drivers))
    show_found(found, text, as_json=options.json)
    if found.status == "failed":
        raise MachineFault(f"not everything was asked: {found.stopped_because}")
    return INTERRUPTED if found.status == "interrupted" else 0


def advise_command(options: AdviseOptions) -> int:
    """Advise and show it; the exit status."""
    connects, answer = options.connects, options.bytes
    request = AdviceRequest(
        watch_s=quantities.seconds(options.watch, "--watch"),
        like_it_s=_length(options.budget, "--budget"),
        there_s=_length(options.there, "--there"),
        share=quantities.share(options.share),
        connects_per_s=None if connects is None else quantities.rate(connects, "--connects"),
        statements=options.queries,
        answer_bytes=None if answer is None else quantities.size(answer, "--bytes"),
    )
    if options.report is not None:
        format_of_name(
            options.report, {".html": "html", ".htm": "html"}, "html", what="the page of an advice"
        )
        check_writable(options.report)
    guest = options.login.access(options.server or "", options.server_host)
    with (
        closing(ProgressLine(quiet=options.json)) as watcher,
        accessed(guest, watcher.step) as access,
        open_store() as store,
    ):
        found = advise(access, request, store, watcher)
    interruption.forget()
    shown = redacted(found) if options.redact else found
    show_found(shown, partial(advice_text, shown), as_json=options.json)
    if options.report is not None:
        shared = found if options.redact is False else redacted(found)
        write_text(options.report, advice_html(shared))
    return INTERRUPTED if found.status == "interrupted" else 0


def _length(text: str, option: str) -> float:
    """A duration, or 0 for "off"."""
    return 0.0 if text.strip() == "off" else quantities.seconds(text, option)
