"""`tlstax advise`: what to change at a server, what is shown meanwhile, and how it ends."""

from __future__ import annotations

from functools import partial

from tlstax.cli import quantities
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.external_servers import accessed
from tlstax.cli.kept import open_store
from tlstax.cli.output_file import check_writable, format_of_name, write_text
from tlstax.cli.progress import ProgressLine
from tlstax.cli.server_app import AdviseOptions
from tlstax.cli.streams import show_found
from tlstax.report.page.html import advice_html
from tlstax.tools.advice.advise import AdviceRequest, advise
from tlstax.topics.advice.redact import redacted
from tlstax.topics.advice.sections import advice_text


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
    watcher = ProgressLine(quiet=options.json)
    try:
        with accessed(guest, watcher.step) as access, open_store() as store:
            found = advise(access, request, store, watcher)
    finally:
        watcher.close()
    shown = redacted(found) if options.redact else found
    show_found(shown, partial(advice_text, shown), as_json=options.json)
    if options.report is not None:
        shared = found if options.redact is False else redacted(found)
        write_text(options.report, advice_html(shared))
    return INTERRUPTED if found.status == "interrupted" else 0


def _length(text: str, option: str) -> float:
    """A duration, or 0 for "off"."""
    return 0.0 if text.strip() == "off" else quantities.seconds(text, option)
