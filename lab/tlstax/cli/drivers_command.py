"""`tlstax drivers`: those that are known, and what a probe of either product's drivers shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from tlstax.cli import quantities
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.external_servers import external_of
from tlstax.cli.progress import ProgressLine
from tlstax.cli.server_app import ProbeOptions
from tlstax.cli.streams import check_writable, format_of_name, show_found, terminal_width, write_text
from tlstax.cli.target_servers import external_url, is_of_postgresql, needs_external
from tlstax.plan.budget import LEAST_BLOCKS, least_block_s, least_budget, no_room
from tlstax.report.formats.markdown import of_sections
from tlstax.report.formats.render import json_document
from tlstax.report.formats.terminal import printed_sections
from tlstax.specimens.resolve import check_server_name
from tlstax.store import open_store
from tlstax.study.driver_catalogue import DRIVERS, speaking
from tlstax.study.factor import check_level
from tlstax.study.factors import check_factor
from tlstax.study.level_names import OPTION
from tlstax.support import interruption
from tlstax.support.credentials import called
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.text import closest
from tlstax.tools.probes.drivers.external_logins import ExternalTarget
from tlstax.tools.probes.drivers.probe import ProbeRequest, listed_drivers, probe
from tlstax.tools.probes.drivers.probe_costs import Measurable, costs_study
from tlstax.tools.probes.drivers.probe_table import listed_text, probe_text
from tlstax.tools.probes.drivers.probed import ProbeDocument
from tlstax.tools.probes.postgres_drivers.document import PostgresProbe
from tlstax.tools.probes.postgres_drivers.probe import DEFAULT_SERVER, probe_postgres
from tlstax.tools.probes.postgres_drivers.tables import csv_text, sections

DEFAULT_BUDGET_S = 300.0
"""A few blocks of the four cases of each driver of a language; one alone is known well after a minute. For so
many that two blocks take longer, it is what those take."""

FORMS: Mapping[bool, Mapping[str, str]] = {
    False: {".json": "json", ".txt": "txt"},
    True: {".json": "json", ".txt": "txt", ".md": "md", ".csv": "csv"},
}
"""The format by the name of the file: of MySQL's drivers, and of PostgreSQL's."""


def list_command(*, as_json: bool) -> int:
    """Show every driver that is known; the exit status."""
    found = listed_drivers()
    show_found(found, partial(listed_text, found), as_json=as_json)
    return 0


def probe_command(options: ProbeOptions) -> int:
    """Probe drivers, show and write what was found; the exit status.

    UserMistake for a name that is none and, once all has been shown, for options that no driver takes;
    MachineFault then where none could be probed.
    """
    is_postgresql = wants_postgresql(options)
    request = request_of(options, is_postgresql=is_postgresql)
    form = "json"
    if options.output is not None:
        form = format_of_name(options.output, FORMS[is_postgresql], "json", what="a probe")
        check_writable(options.output)
    found = (probe_postgres if is_postgresql else probe)(
        request, open_store, ProgressLine(quiet=options.json)
    )
    interruption.forget()
    show_found(found, partial(_text, found), as_json=options.json)
    if options.output is not None:
        write_text(options.output, written(found, form, width=terminal_width()))
    if found.status == "interrupted":
        return INTERRUPTED
    if options.option and _refuses_options(found):
        raise UserMistake(
            "no driver accepted what --option gives it", remedy="each row says what the driver objects to"
        )
    if found.status == "failed":
        raise MachineFault(f"not all drivers were probed: {found.stopped_because}")
    if all(row.failed for row in found.drivers):
        raise MachineFault("no driver could be probed", remedy="each row says why")
    return 0


def _refuses_options(found: ProbeDocument | PostgresProbe) -> bool:
    """Whether no driver took what it was told beside TLS."""
    if isinstance(found, PostgresProbe):
        return all(word.refused_word for row in found.drivers for word in row.words)
    return all(row.failed_as == "bad_job" for row in found.drivers)


def wants_postgresql(options: ProbeOptions) -> bool:
    """Whether PostgreSQL's drivers are asked for, by their names or by the server's.

    UserMistake for a name that is none, and where drivers and server speak different protocols.
    """
    names = options.names or []
    for name in names:
        if name not in DRIVERS:
            raise UserMistake(
                f"there is no driver {called(name)}{closest(name, DRIVERS)}",
                remedy="`tlstax drivers list` names them all",
            )
    of_server = is_of_postgresql(options.server) if options.server is not None else None
    for name in names:
        is_postgresql = DRIVERS[name].speaks == "postgresql"
        if of_server is None:
            of_server = is_postgresql
        if is_postgresql != of_server:
            other = options.server or names[0]
            raise UserMistake(
                f"{name} and {other} speak different protocols: {_PROTOCOLS[is_postgresql]} and "
                f"{_PROTOCOLS[of_server]}",
                remedy="probe the drivers of one of them at a time",
            )
    return bool(of_server)


_PROTOCOLS = {True: "PostgreSQL's", False: "MySQL's"}


def request_of(options: ProbeOptions, *, is_postgresql: bool) -> ProbeRequest:
    """What is to be probed. Raises UserMistake, also for a budget that has no room for two blocks."""
    url = external_url(options.server)
    if url:
        _check_harmless(options, is_postgresql=is_postgresql)
    elif options.server is not None:
        check_server_name(options.server)
    if options.allow_plaintext and not url:
        raise needs_external("--allow-plaintext", "--server")
    if options.budget is not None and options.no_costs:
        raise UserMistake("--budget does not go with --no-costs", remedy="leave one of them out")
    names = tuple(dict.fromkeys(options.names or speaking("postgresql" if is_postgresql else "mysql")))
    own_options = dict(map(own_option, options.option or ()))
    access = external_of(options.login.access(url), None)
    if access is not None and access.tls.mode == "DISABLED":
        raise UserMistake(
            f"{access.tls.mode_by} leaves nothing to be seen of TLS",
            remedy="leave it out: drivers are told to log in without TLS anyway",
        )
    server = None if url else options.server or (DEFAULT_SERVER if is_postgresql else None)
    return ProbeRequest(
        names=names,
        server=server,
        external=ExternalTarget(access, options.allow_plaintext) if access is not None else None,
        budget_s=None if options.no_costs else budget_of(names, options, server if is_postgresql else None),
        options=own_options,
        beside_others=options.beside_others,
        attacks=options.attacks,
    )


def _check_harmless(options: ProbeOptions, *, is_postgresql: bool) -> None:
    """UserMistake for what is not done at somebody else's server."""
    if is_postgresql:
        raise UserMistake(
            "the drivers of PostgreSQL are probed at private servers alone",
            remedy="name one (`tlstax drivers probe --server postgresql-18`), or measure one driver there "
            "with `tlstax run --server postgres://user@host/database --client psycopg-3`",
        )
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


def written(found: ProbeDocument | PostgresProbe, form: str, *, width: int) -> str:
    """What was found, in the format of that name."""
    if isinstance(found, PostgresProbe) and form == "csv":
        return csv_text(found)
    if isinstance(found, PostgresProbe) and form == "md":
        return "\n\n".join(part for part in of_sections(sections(found)) if part) + "\n"
    return _text(found, width=width, colour=False) if form == "txt" else json_document(found)


def _text(found: ProbeDocument | PostgresProbe, *, width: int, colour: bool) -> str:
    if isinstance(found, PostgresProbe):
        return printed_sections(sections(found), width=width, colour=colour)
    return probe_text(found, width=width, colour=colour)


def budget_of(names: Sequence[str], options: ProbeOptions, server: str | None) -> float:
    """How long costs are measured, if all these drivers can be measured. Raises UserMistake."""
    study = costs_study([Measurable(name=name) for name in names], server, {}, DEFAULT_BUDGET_S)
    block_s = least_block_s(study)
    if options.budget is None:
        return max(DEFAULT_BUDGET_S, LEAST_BLOCKS * block_s)
    budget_s = quantities.seconds(options.budget, "--budget")
    message = no_room(study.model_copy(update={"budget_s": budget_s}), block_s)
    if message and not options.over_budget:
        raise UserMistake(
            message,
            remedy=f"give --budget {least_budget(LEAST_BLOCKS * block_s)}"
            f"{', name fewer drivers' if len(names) > 1 else ''}, or run it anyway with --over-budget",
        )
    return budget_s


def own_option(text: str) -> tuple[str, str]:
    """A driver's option as it was typed, by its name. Raises UserMistake."""
    name, separator, value = text.partition("=")
    if not separator:
        raise UserMistake(f"--option: {text!r} has no value", remedy="write it like useSSL=false")
    factor = check_factor(f"{OPTION}{name}", where="--option")
    return name, str(check_level(factor, value, where="--option"))
