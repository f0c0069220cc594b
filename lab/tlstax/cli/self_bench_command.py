"""`tlstax self-bench`: its options into a request, what is shown meanwhile, and how it ends."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from tlstax.cli import quantities
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.kept import write_text
from tlstax.cli.measuring import colourful
from tlstax.cli.progress import ProgressLine, time_left
from tlstax.errors import MachineFault, UserMistake
from tlstax.factors import closest
from tlstax.selfbench import plan, session
from tlstax.selfbench.document import SelfBenchDocument
from tlstax.selfbench.estimate import document
from tlstax.selfbench.plan import Trial
from tlstax.selfbench.table import markdown, terminal
from tlstax.selfbench.words import cell_words

FORMATS = ("terminal", "md", "json")

DEFAULT_BUDGET_S = 600.0
"""Six or seven blocks of all cells, which tell most ratios of CPU to within a few per cent."""


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


class SelfBenchProgress:
    """The progress line with the self-bench's own words for a trial."""

    def __init__(self, line: ProgressLine) -> None:
        self._line = line
        self.step, self.warn, self.close = line.step, line.warn, line.close

    def trial(self, trial: Trial, number: int, left_s: float | None) -> None:
        """A trial begins; `left_s` is how long the rest may take, None while that is not known."""
        left = f" · {time_left(left_s)} left" if left_s is not None else ""
        self._line.now(
            f"block {trial.block + 1}, trial {number}: {trial.contestant}, {cell_words(trial.cell)}{left}"
        )


def self_bench_command(options: SelfBenchOptions) -> int:
    """Compare and show, or show what was compared before; the exit status.

    MachineFault when no trial of the engine was valid; what there is has been shown then.
    """
    form = _format_of(options)
    if options.show is not None:
        sys.stdout.write(render(read_document(options.show), form))
        return 0
    run = session.run(_request(options), SelfBenchProgress(ProgressLine(quiet=form == "json")))
    found = document(run)
    if options.output is not None:
        write_text(options.output, render(found, "json"))
    sys.stdout.write(render(found, form))
    if found.status == "interrupted":
        return INTERRUPTED
    if found.status == "failed":
        raise MachineFault(run.why)
    if all(cell.engine is None for cell in found.cells):
        reason = next((r.reason for r in found.trials.rejected if r.contestant == "engine"), "none was run")
        raise MachineFault(f"no trial of the engine was valid: {reason}")
    return 0


def render(found: SelfBenchDocument, form: str) -> str:
    """The document in one of FORMATS."""
    if form == "json":
        return found.model_dump_json(indent=2) + "\n"
    return markdown(found) if form == "md" else terminal(found, colour=colourful())


def read_document(path: Path) -> SelfBenchDocument:
    """What `--output` wrote before. Raises UserMistake."""
    try:
        return SelfBenchDocument.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as fault:
        raise UserMistake(f"{path} cannot be read: {fault}") from fault
    except ValidationError as fault:
        raise UserMistake(
            f"{path} is not what self-bench writes", remedy="give a file that --output of this version wrote"
        ) from fault


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
    return session.Request(cells=cells, budget_s=budget_s, seed=options.seed)


def _names(text: str | None, option: str, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    return quantities.names(text, option) if text is not None else otherwise


def _format_of(options: SelfBenchOptions) -> str:
    if options.format_name not in FORMATS:
        raise UserMistake(
            f"--format: there is no format {options.format_name!r}{closest(options.format_name, FORMATS)}",
            remedy=f"the formats are {', '.join(FORMATS)}",
        )
    return "json" if options.json else options.format_name
