"""`tlstax inspect`, `advise` and `drivers`: looking at a server, and at what connects to one."""

from __future__ import annotations

from functools import partial

from tlstax.cli import quantities
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.external_servers import accessed, external_of
from tlstax.cli.postgres_probe_command import (
    OF_MYSQL,
    budget_of,
    check_names,
    form_of,
    own_option,
    postgres_probe_command,
    wants_postgresql,
)
from tlstax.cli.progress import ProgressLine
from tlstax.cli.server_app import AdviseOptions, InspectOptions, ProbeOptions
from tlstax.cli.streams import check_writable, format_of_name, show_found, terminal_width, write_text
from tlstax.cli.target_servers import (
    external_url,
    is_of_postgresql,
    needs_external,
)
from tlstax.report.formats.render import json_document
from tlstax.report.page.html import advice_html
from tlstax.specimens.resolve import check_server_name
from tlstax.store import open_store
from tlstax.study.driver_catalogue import speaking
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.tools.advice import AdviceRequest, advise
from tlstax.tools.inspection import inspect
from tlstax.tools.probes.drivers.external_logins import ExternalTarget
from tlstax.tools.probes.drivers.probe import ProbeRequest, listed_drivers, probe
from tlstax.tools.probes.drivers.probe_table import listed_text, probe_text
from tlstax.topics.advice.redact import redacted
from tlstax.topics.advice.sections import advice_text
from tlstax.topics.inspection.known_drivers import known_drivers
from tlstax.topics.inspection.text import inspection_text


def inspect_command(options: InspectOptions) -> int:
    """Inspect the server and show what was found; the exit status. MachineFault where it could not end."""
    watch_s = quantities.seconds(options.watch, "--watch")
    drivers = [] if options.client is None else list(quantities.names(options.client, "--client"))
    known_drivers("postgresql" if is_of_postgresql(options.server) else "mysql").only(drivers)
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


def list_command(*, as_json: bool) -> int:
    """Show every driver that is known; the exit status."""
    found = listed_drivers()
    show_found(found, partial(listed_text, found), as_json=as_json)
    return 0


def probe_command(options: ProbeOptions) -> int:
    """Probe drivers and show what was found; the exit status.

    UserMistake for a name that is none and, once all has been shown, for options that no driver takes;
    MachineFault then where none could be probed.
    """
    if wants_postgresql(options):
        return postgres_probe_command(options)
    request, form = request_of(options), form_of(options.output, OF_MYSQL)
    found = probe(request, open_store, ProgressLine(quiet=options.json))
    show_found(found, partial(probe_text, found), as_json=options.json)
    if options.output is not None:
        text = probe_text(found, width=terminal_width(), colour=False)
        write_text(options.output, text if form == "txt" else json_document(found))
    if found.status == "interrupted":
        return INTERRUPTED
    if options.option and all(row.failed_as == "bad_job" for row in found.drivers):
        raise UserMistake(
            "no driver accepted what --option gives it", remedy="each row says what the driver objects to"
        )
    if found.status == "failed":
        raise MachineFault(f"not all drivers were probed: {found.stopped_because}")
    if all(row.failed for row in found.drivers):
        raise MachineFault("no driver could be probed", remedy="each row says why")
    return 0


def request_of(options: ProbeOptions) -> ProbeRequest:
    """What is to be probed. Raises UserMistake, also for a budget that has no room for two blocks."""
    check_names(options.names or ())
    url = external_url(options.server)
    if options.server is not None and not url:
        check_server_name(options.server)
    if url:
        _check_harmless(options)
    elif options.allow_plaintext:
        raise needs_external("--allow-plaintext", "--server")
    if options.budget is not None and options.no_costs:
        raise UserMistake("--budget does not go with --no-costs", remedy="leave one of them out")
    names = tuple(dict.fromkeys(options.names or speaking("mysql")))
    own_options = dict(map(own_option, options.option or ()))
    access = external_of(options.login.access(url), None)
    if access is not None and access.tls.mode == "DISABLED":
        raise UserMistake(
            f"{access.tls.mode_by} leaves nothing to be seen of TLS",
            remedy="leave it out: drivers are told to log in without TLS anyway",
        )
    return ProbeRequest(
        names=names,
        server=None if url else options.server,
        external=ExternalTarget(access, options.allow_plaintext) if access is not None else None,
        budget_s=None if options.no_costs else budget_of(names, options, None),
        options=own_options,
        beside_others=options.beside_others,
        attacks=options.attacks,
    )


def _check_harmless(options: ProbeOptions) -> None:
    """UserMistake for what is not done at somebody else's server."""
    if options.attacks:
        raise UserMistake(
            "--attacks asks drivers for a password and for files, which is done on private servers alone",
            remedy="leave it out, or leave out --server",
        )
    if not options.no_costs:
        client = f"--client {','.join(options.names)}" if options.names else "--client NAME"
        raise UserMistake(
            "what a driver costs is not measured by a probe at an external server",
            remedy=f"add --no-costs, and measure it with tlstax run --server {options.server} {client}",
        )
