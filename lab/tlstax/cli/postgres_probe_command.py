"""`tlstax drivers probe` for PostgreSQL's drivers, and what both products' probes ask of options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from tlstax.cli import quantities
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.progress import ProgressLine
from tlstax.cli.server_app import ProbeOptions
from tlstax.cli.streams import check_writable, format_of_name, show_found, terminal_width, write_text
from tlstax.cli.target_servers import check_probed_url, is_of_postgresql, needs_external
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
from tlstax.support.credentials import called
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.text import closest
from tlstax.tools.probes.drivers.probe_costs import Measurable, costs_study
from tlstax.tools.probes.postgres_drivers.document import PostgresProbe
from tlstax.tools.probes.postgres_drivers.probe import DEFAULT_SERVER, PostgresRequest, probe_postgres
from tlstax.tools.probes.postgres_drivers.tables import csv_text, sections

DEFAULT_BUDGET_S = 300.0
"""A few blocks of the four cases of each driver of a language; one alone is known well after a minute. For so
many that two blocks take longer, it is what those take."""

OF_MYSQL: Mapping[str, str] = {".json": "json", ".txt": "txt"}
OF_POSTGRESQL: Mapping[str, str] = {**OF_MYSQL, ".md": "md", ".csv": "csv"}


def form_of(output: Path | None, formats: Mapping[str, str]) -> str:
    """The format that --output is written in, by its name. UserMistake where it cannot be."""
    if output is None:
        return "json"
    form = format_of_name(output, formats, "json", what="a probe")
    check_writable(output)
    return form


def check_names(names: Sequence[str]) -> None:
    """UserMistake for a name that is no driver's."""
    for name in names:
        if name not in DRIVERS:
            raise UserMistake(
                f"there is no driver {called(name)}{closest(name, DRIVERS)}",
                remedy="`tlstax drivers list` names them all",
            )


def wants_postgresql(options: ProbeOptions) -> bool:
    """Whether PostgreSQL's drivers are asked for, by their names or by the server's.

    UserMistake for a name that is none, and where drivers and server speak different protocols.
    """
    names = options.names or []
    check_names(names)
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


def postgres_request_of(options: ProbeOptions) -> PostgresRequest:
    """What is to be probed. Raises UserMistake, also for a budget that has no room for two blocks."""
    if options.server is not None:
        # An external one ends here: drivers of PostgreSQL are probed at private servers alone.
        check_probed_url(options.server)
        check_server_name(options.server)
    if options.allow_plaintext:
        raise needs_external("--allow-plaintext", "--server")
    options.login.access("")
    if options.budget is not None and options.no_costs:
        raise UserMistake("--budget does not go with --no-costs", remedy="leave one of them out")
    names = tuple(dict.fromkeys(options.names or speaking("postgresql")))
    server = options.server or DEFAULT_SERVER
    return PostgresRequest(
        names=names,
        server=server,
        budget_s=None if options.no_costs else budget_of(names, options, server),
        options=dict(map(own_option, options.option or ())),
        attacks=options.attacks,
        beside_others=options.beside_others,
    )


def postgres_probe_command(options: ProbeOptions) -> int:
    """Probe PostgreSQL's drivers, show and write what was found; the exit status.

    UserMistake for options that no driver takes, MachineFault where none could be probed, once all is shown.
    """
    request, form = postgres_request_of(options), form_of(options.output, OF_POSTGRESQL)
    found = probe_postgres(request, open_store, ProgressLine(quiet=options.json))
    show_found(found, partial(_text, found), as_json=options.json)
    if options.output is not None:
        write_text(options.output, written(found, form, width=terminal_width()))
    if found.status == "interrupted":
        return INTERRUPTED
    if options.option and all(word.refused_word for row in found.drivers for word in row.words):
        raise UserMistake(
            "no driver accepted what --option gives it", remedy="each row says what the driver objects to"
        )
    if all(row.failed for row in found.drivers):
        raise MachineFault("no driver could be probed", remedy="each row says why")
    return 0


def written(found: PostgresProbe, form: str, *, width: int) -> str:
    """What was found, in the format of that name."""
    if form == "csv":
        return csv_text(found)
    if form == "md":
        return "\n\n".join(part for part in of_sections(sections(found)) if part) + "\n"
    return _text(found, width=width, colour=False) if form == "txt" else json_document(found)


def _text(found: PostgresProbe, *, width: int, colour: bool) -> str:
    return printed_sections(sections(found), width=width, colour=colour)


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
