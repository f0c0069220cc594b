"""`tlstax self-bench`: its options into a request, what is shown meanwhile, and how it ends."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tlstax.cli import quantities
from tlstax.cli.bench_formats import format_of, format_of_output
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.memory_command import HoldOptions, hold_command
from tlstax.cli.output_file import write_text
from tlstax.cli.progress import ProgressLine
from tlstax.cli.streams import colourful, show, show_json
from tlstax.selfbench import bytes_measure, plan, session
from tlstax.selfbench.bytes_document import BytesDocument
from tlstax.selfbench.bytes_measure import BytesRequest
from tlstax.selfbench.bytes_table import bytes_markdown, bytes_terminal
from tlstax.selfbench.document import SelfBenchDocument
from tlstax.selfbench.estimate import document
from tlstax.selfbench.plan import Sitting
from tlstax.selfbench.table import markdown, terminal
from tlstax.selfbench.words import cell_words
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.plain_words import reason
from tlstax.topics.core.untrusted import escaped_json

Document = SelfBenchDocument | BytesDocument

DEFAULT_BUDGET_S = 600.0
"""About ten blocks of all cells, on a machine that does nothing else."""


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
    client_tls_library: Path | None = None
    bytes: bool = False
    hold: int | None = None
    rate: float | None = None
    server: str | None = None
    server_cpus: str | None = None
    client_cpus: str | None = None
    beside_others: bool = False


class SelfBenchProgress:
    """The progress line with the self-bench's own words for a sitting."""

    def __init__(self, line: ProgressLine) -> None:
        self._line = line
        self._first_s: float | None = None
        self.step, self.warn, self.close = line.step, line.warn, line.close

    def sitting(self, sitting: Sitting, left_s: float | None) -> None:
        """A sitting begins; `left_s` is how long the rest may take, None while that is not known."""
        now_s = time.monotonic()
        self._first_s = now_s if self._first_s is None else self._first_s
        took_s = now_s - self._first_s
        self._line.now(
            f"block {sitting.block + 1}, cell {sitting.number + 1}: {cell_words(sitting.cell)}",
            share=took_s / (took_s + left_s) if left_s and left_s > 0 else None,
            left_s=left_s,
        )


def self_bench_command(options: SelfBenchOptions) -> int:
    """Compare, or hold connections, and show it; or show what was kept before. The exit status.

    MachineFault when the figures must not be used; what there is has been shown then.
    """
    form = format_of(options.format_name, json=options.json)
    if options.show is not None:
        _show(read_document(options.show), form)
        return 0
    if options.hold is not None and not options.bytes:
        return hold_command(_hold_options(options, options.hold))
    format_of_output(options.output)
    line = ProgressLine(quiet=form == "json")
    if options.bytes:
        return _bytes(_bytes_request(options), options, line, form)
    for name, value in (("--rate", options.rate), ("--server", options.server)):
        if value is not None:
            raise UserMistake(f"{name} goes with --hold", remedy="leave it out, or say how many to hold")
    run = session.run(_request(options), SelfBenchProgress(line))
    found = document(run)
    _show_and_keep(found, options.output, form)
    if found.status == "interrupted":
        return INTERRUPTED
    if found.status == "failed":
        raise MachineFault(run.why)
    if all(cell.engine is None for cell in found.cells):
        reason = next((r.reason for r in found.trials.rejected if r.contestant == "engine"), "none was run")
        raise MachineFault(f"no trial of the engine was valid: {reason}")
    return 0


def _bytes(request: BytesRequest, options: SelfBenchOptions, line: ProgressLine, form: str) -> int:
    found = bytes_measure.measure(request, line.step, line.warn)
    _show_and_keep(found, options.output, form)
    return INTERRUPTED if found.status == "interrupted" else 0


def _show_and_keep(found: Document, output: Path | None, form: str) -> None:
    try:
        _show(found, form)
    finally:
        if output is not None:
            write_text(output, render(found, format_of_output(output)))


def _show(found: Document, form: str) -> None:
    text = render(found, form, colour=colourful())
    if form == "json":
        show_json(text)
    else:
        show(text, coloured=form == "terminal" and colourful())


def render(found: Document, form: str, *, colour: bool = False) -> str:
    """The document in one of FORMATS; `colour` is for the terminal alone."""
    if form == "json":
        return escaped_json(found.model_dump_json(indent=2) + "\n")
    if isinstance(found, BytesDocument):
        return bytes_markdown(found) if form == "md" else bytes_terminal(found)
    return markdown(found) if form == "md" else terminal(found, colour=colour)


def read_document(path: Path) -> Document:
    """What `--output` wrote before. Raises UserMistake."""
    try:
        return TypeAdapter[Document](Document).validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as fault:
        raise UserMistake(f"{path} cannot be read ({reason(fault)})") from fault
    except ValidationError as fault:
        raise UserMistake(
            f"{path} is not what self-bench writes", remedy="give a file that --output of this version wrote"
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


def _hold_options(options: SelfBenchOptions, connections: int) -> HoldOptions:
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
    return HoldOptions(
        connections=connections,
        rate_per_s=options.rate,
        server=options.server,
        seed=options.seed,
        output=options.output,
        format_name=options.format_name,
        json=options.json,
        cpus=quantities.asked_cpus(options.server_cpus, options.client_cpus),
        beside_others=options.beside_others,
    )


def _request(options: SelfBenchOptions) -> session.Request:
    cells = plan.cells(
        _names(options.workload, "--workload", plan.WORKLOADS),
        _names(options.tls, "--tls", plan.TLS_LEVELS),
        quantities.counts(options.connections, "--connections")
        if options.connections is not None
        else plan.CONNECTIONS,
    )
    budget_s = DEFAULT_BUDGET_S
    if options.budget is not None:
        budget_s = quantities.seconds(options.budget, "--budget")
    library = options.client_tls_library
    if library is not None and not library.is_file():
        raise UserMistake(
            f"--client-tls-library: {library} is not a file", remedy="name a libssl.so with its path"
        )
    return session.Request(
        cells=cells,
        budget_s=budget_s,
        seed=options.seed,
        client_tls_library=str(library.resolve()) if library is not None else None,
        cpus=quantities.asked_cpus(options.server_cpus, options.client_cpus),
        beside_others=options.beside_others,
    )


def _names(text: str | None, option: str, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    return quantities.names(text, option) if text is not None else otherwise
