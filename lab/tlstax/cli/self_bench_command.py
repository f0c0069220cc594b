"""`tlstax self-bench`: the study of that name with what options change; or connections held, results read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tlstax.cli import quantities
from tlstax.cli.bench_formats import format_of, format_of_output
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.measuring import Shown, measure
from tlstax.cli.output_file import write_text
from tlstax.cli.progress import ProgressLine
from tlstax.cli.streams import colourful, show, show_json
from tlstax.cli.study_command import changed
from tlstax.clients.choice import obtain_client
from tlstax.records.trial import Changes
from tlstax.run.preparing import Request
from tlstax.selfbench import bytes_measure
from tlstax.selfbench.bytes_document import BytesDocument
from tlstax.selfbench.bytes_measure import BytesRequest
from tlstax.selfbench.bytes_table import bytes_markdown, bytes_terminal
from tlstax.selfbench.hold import DEFAULT_SERVER, HoldRequest, hold, ready_servers
from tlstax.selfbench.hold_estimate import hold_document
from tlstax.selfbench.hold_records import HoldDocument
from tlstax.selfbench.hold_table import hold_markdown, hold_terminal
from tlstax.study import RESUMED, load_study
from tlstax.study.changes import over_client_library
from tlstax.study.client_kinds.floor import NAME as FLOOR
from tlstax.study.client_kinds.sysbench import NAME as SYSBENCH
from tlstax.study.level_names import ENGINE, RECONNECT
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake
from tlstax.support.plain_words import reason
from tlstax.support.text import closest
from tlstax.topics.core.untrusted import escaped_json

STUDY, TLS_RESUMED = "self-bench", f"1.3{RESUMED}"

Document = HoldDocument | BytesDocument

ALL = "all"


@dataclass(frozen=True)
class SelfBenchOptions:
    """The options of `tlstax self-bench` as they were typed."""

    workload: str | None = None
    tls: str | None = None
    connections: str | None = None
    budget: str | None = None
    seed: int | None = None
    output: Path | None = None
    show: Path | None = None
    format_name: str = "terminal"
    json: bool = False
    client_tls_library: str | None = None
    bytes: bool = False
    hold: int | None = None
    rate: float | None = None
    server: str | None = None
    server_cpus: str | None = None
    client_cpus: str | None = None
    beside_others: bool = False


def self_bench_command(options: SelfBenchOptions) -> int:
    """Compare, hold connections or read results, and show it; or show what was kept. The exit status.

    MachineFault when the figures must not be used; what there is has been shown then.
    """
    form = format_of(options.format_name, json=options.json)
    if options.show is not None:
        _show(read_document(options.show), form)
        return 0
    if options.bytes:
        format_of_output(options.output)
        return _bytes(_bytes_request(options), options, ProgressLine(quiet=form == "json"), form)
    if options.hold is not None:
        format_of_output(options.output)
        return _hold(_hold_request(options, options.hold), options, ProgressLine(quiet=form == "json"), form)
    for name, value in (("--rate", options.rate), ("--server", options.server)):
        if value is not None:
            raise UserMistake(f"{name} goes with --hold", remedy="leave it out, or say how many to hold")
    request = _request(options, ProgressLine(quiet=form == "json"))
    shown = Shown(report=options.output, as_json=form == "json", as_markdown=form == "md")
    return measure(request, shown=shown)


def _request(options: SelfBenchOptions, line: ProgressLine) -> Request:
    """A run of the study; without a sysbench to be had, of the others, which is said. Raises UserMistake."""
    chosen = [
        f"{factor}={','.join(levels)}"
        for factor, levels in (
            ("workload", _levels(options.workload, "workload")),
            ("tls", _tls_levels(options)),
            ("connections", _connections(options.connections)),
        )
        if levels
    ]
    changes = Changes(
        set=tuple(chosen),
        budget=options.budget,
        server_cpus=options.server_cpus,
        client_cpus=options.client_cpus,
    )
    cpus = quantities.asked_cpus(options.server_cpus, options.client_cpus)
    changed(load_study(STUDY), changes)  # A mistake is told before anything is fetched.
    try:
        obtain_client(SYSBENCH, line.step)
    except TlstaxError as error:
        line.warn(f"no {SYSBENCH} to compare with: {error.sentence()}")
        changes = changes.model_copy(update={"set": (*chosen, f"client={ENGINE},{FLOOR}")})
    study = changed(load_study(STUDY), changes)
    if options.client_tls_library is not None:
        study = over_client_library(study, options.client_tls_library)
    return Request(
        study=study, seed=options.seed, changes=changes, cpus=cpus, beside_others=options.beside_others
    )


def _levels(text: str | None, factor: str) -> tuple[str, ...]:
    """Levels of the study's own. UserMistake for others: the clients do no other work alike."""
    levels = _names(text, f"--{factor}")
    known = [*map(str, load_study(STUDY).factors[factor]), *([TLS_RESUMED] if factor == "tls" else [])]
    for level in levels:
        if level not in known:
            raise UserMistake(
                f"--{factor}: the self-bench has no {level!r}{closest(level, known)}",
                remedy=f"allowed are {', '.join(known)}",
            )
    return levels


def _tls_levels(options: SelfBenchOptions) -> tuple[str, ...]:
    """TLS levels, resumed or not; what a resumed one is compared with, full handshakes, comes along."""
    levels, full = _levels(options.tls, "tls"), TLS_RESUMED.removesuffix(RESUMED)
    if TLS_RESUMED not in levels:
        return levels
    if RECONNECT not in (_names(options.workload, "--workload") or (RECONNECT,)):
        raise UserMistake(
            f"--tls: {TLS_RESUMED} concerns new connections only",
            remedy=f"ask for it with --workload {RECONNECT}",
        )
    return (
        levels
        if full in levels
        else (*(level for level in levels if level != TLS_RESUMED), full, TLS_RESUMED)
    )


def _connections(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(map(str, quantities.counts(text, "--connections")))


def _names(text: str | None, option: str) -> tuple[str, ...]:
    return quantities.names(text, option) if text is not None else ()


def _bytes(request: BytesRequest, options: SelfBenchOptions, line: ProgressLine, form: str) -> int:
    found = bytes_measure.measure(request, line.step, line.warn)
    _show_and_keep(found, options.output, form)
    return INTERRUPTED if found.status == "interrupted" else 0


def _hold(request: HoldRequest, options: SelfBenchOptions, line: ProgressLine, form: str) -> int:
    run = hold(request, line.step, line.warn)
    found = hold_document(run)
    _show_and_keep(found, options.output, form)
    if found.status == "interrupted":
        return INTERRUPTED
    if not found.servers:
        raise MachineFault(f"no server could hold them: {found.not_held[0].reason}")
    doubts = [doubt for held in found.servers for level in held.levels for doubt in level.doubts]
    if doubts:
        raise MachineFault(f"the connections were not held as asked: {doubts[0]}")
    return 0


def _show_and_keep(found: Document, output: Path | None, form: str) -> None:
    try:
        _show(found, form)
    finally:
        if output is not None:
            write_text(output, render(found, format_of_output(output)))


def _show(found: Document, form: str) -> None:
    text = render(found, form)
    if form == "json":
        show_json(text)
    else:
        show(text, coloured=form == "terminal" and colourful())


def render(found: Document, form: str) -> str:
    """The document in one of the formats."""
    if form == "json":
        return escaped_json(found.model_dump_json(indent=2) + "\n")
    if isinstance(found, BytesDocument):
        return bytes_markdown(found) if form == "md" else bytes_terminal(found)
    return hold_markdown(found) if form == "md" else hold_terminal(found)


def read_document(path: Path) -> Document:
    """What `--output` wrote before of `--hold` or `--bytes`. Raises UserMistake."""
    try:
        return TypeAdapter[Document](Document).validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as fault:
        raise UserMistake(f"{path} cannot be read ({reason(fault)})") from fault
    except ValidationError as fault:
        raise UserMistake(
            f"{path} is not what self-bench --hold or --bytes of this version writes",
            remedy="a comparison is a run: `tlstax report RUN` shows it, `tlstax pack RUN` makes a file",
        ) from fault


def _bytes_request(options: SelfBenchOptions) -> BytesRequest:
    for name, value in (
        ("--workload", options.workload),
        ("--tls", options.tls),
        ("--connections", options.connections),
        ("--client-tls-library", options.client_tls_library),
        ("--hold", options.hold),
        ("--rate", options.rate),
        ("--seed", options.seed),
    ):
        if value is not None:
            raise UserMistake(f"{name} does not go with --bytes", remedy="leave one of them out")
    cpus = quantities.asked_cpus(options.server_cpus, options.client_cpus)
    if options.budget is None:
        return BytesRequest(cpus=cpus, beside_others=options.beside_others)
    budget_s = quantities.seconds(options.budget, "--budget")
    return BytesRequest(budget_s=budget_s, cpus=cpus, beside_others=options.beside_others)


def _hold_request(options: SelfBenchOptions, connections: int) -> HoldRequest:
    only_to_compare = (
        ("--workload", options.workload),
        ("--tls", options.tls),
        ("--connections", options.connections),
        ("--budget", options.budget),
        ("--client-tls-library", options.client_tls_library),
    )
    for name, value in only_to_compare:
        if value is not None:
            raise UserMistake(f"{name} does not go with --hold", remedy="leave one of them out")
    rate_per_s = float(connections) if options.rate is None else options.rate
    return HoldRequest(
        connections=connections,
        rate_per_s=rate_per_s,
        servers=_servers(options.server),
        seed=options.seed,
        cpus=quantities.asked_cpus(options.server_cpus, options.client_cpus),
        beside_others=options.beside_others,
    )


def _servers(text: str | None) -> tuple[str, ...]:
    """The servers by name; `all` are those that are here. UserMistake where none is."""
    if text is None:
        return (DEFAULT_SERVER,)
    if text.strip() != ALL:
        return quantities.names(text, "--server")
    found = ready_servers()
    if not found:
        raise UserMistake(
            "--server all: there is no server here yet", remedy="fetch some with `tlstax specimens fetch`"
        )
    return found
