"""The index of a site of many runs: servers and libraries by machines, and where each figure's proof is.

Paths are relative to the index, so that a site works from a disk and below any address.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tlstax.records.trial import Machine, RunHeader, ServerObservation, StoredRun, TrialRecord
from tlstax.results.document import Finding, RunDocument
from tlstax.stats.estimates import counts_of
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import full_label
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics.answer.headline import headline
from tlstax.topics.compare.compare import is_same_machine
from tlstax.topics.core import facts, figures, outcome_names

SERVER_CPU = "server_cpu_us_per_op"
PROOF = "proof"
"""The part of a run's page that says what really ran."""


@dataclass(frozen=True)
class PackedFile:
    """A run's pack as it is on the site."""

    sha256: str
    size_bytes: int


@dataclass(frozen=True)
class Figure:
    """One case: what decides and the server's CPU time, each beside the case's baseline; and whose it is.

    Where the server's CPU time is what decides, it stands once.
    """

    subject: str
    case: str
    deciding: str
    server_cpu: str


@dataclass(frozen=True)
class SiteRun:
    """What the index has of a run, which is little of all that a run is: there may be many.

    `trials` is how these came out, `answer` what the run answers.
    """

    header: RunHeader
    status: str
    stopped_because: str
    trials: str
    answer: tuple[str, ...]
    figures: tuple[Figure, ...]
    pack: PackedFile

    @property
    def name(self) -> str:
        """The run's name, which its files have too."""
        return self.header.run

    @property
    def page(self) -> str:
        """Where its report is."""
        return f"runs/{self.name}.html"

    @property
    def pack_path(self) -> str:
        """Where its pack is."""
        return f"packs/{self.name}.tlstax"


def site_run(stored: StoredRun, document: RunDocument, pack: PackedFile) -> SiteRun:
    """What the index has of this run."""
    trials = counts_of(stored.measured)
    return SiteRun(
        header=stored.header,
        status=stored.status,
        stopped_because=stored.stopped_because,
        trials=f"{trials.valid} valid, {trials.invalid} invalid, {trials.unknown} unknown",
        answer=tuple(headline(document)) if document.findings else (facts.nothing_to_show(stored),),
        figures=tuple(_figures(stored, document)),
        pack=pack,
    )


FigureRow = tuple[Figure, str, SiteRun]
"""A figure with the machine and the run that it is of."""


@dataclass(frozen=True)
class Subject:
    """A server over a TLS library, with its figures; `anchor` is where on the page."""

    name: str
    anchor: str
    rows: tuple[FigureRow, ...]

    def on(self, machine: str) -> str:
        """How much is known of it on this machine; empty for nothing."""
        runs = [run.name for _, own, run in self.rows if own == machine]
        return f"{counted(len(runs), 'figure')} of {counted(len(set(runs)), 'run')}" if runs else ""


@dataclass(frozen=True)
class SiteIndex:
    """Everything that the template needs: machines by their names with what they are, runs with theirs."""

    machines: tuple[tuple[str, str], ...]
    subjects: tuple[Subject, ...]
    runs: tuple[tuple[SiteRun, str], ...]


def site_index(runs: Sequence[SiteRun]) -> SiteIndex:
    """The index of these runs, the newest first."""
    newest = sorted(runs, key=lambda run: (run.header.started_at, run.name), reverse=True)
    kinds: list[Machine] = []
    for run in newest:
        own = run.header.machine
        if len(run.header.all_machines) == 1 and not any(is_same_machine(own, known) for known in kinds):
            kinds.append(own)
    machines = {run.name: _machine(run.header, kinds) for run in newest}
    together = dict.fromkeys(name for name in machines.values() if name.endswith("machines"))
    rows = ((figure, machines[run.name], run) for run in newest for figure in run.figures)
    by_subject = grouped(rows, lambda row: row[0].subject)
    return SiteIndex(
        machines=(
            *((f"machine {place}", _words(kind)) for place, kind in enumerate(kinds, 1)),
            *((name, SEVERAL) for name in together),
        ),
        subjects=tuple(
            Subject(name, f"subject-{place}", _sorted(by_subject[name]))
            for place, name in enumerate(sorted(by_subject), 1)
        ),
        runs=tuple((run, machines[run.name]) for run in newest),
    )


SEVERAL = "of one run together; its page says which"


def _machine(header: RunHeader, kinds: Sequence[Machine]) -> str:
    """What the machine of a run is called: by its place among all kinds, or how many there were."""
    if len(header.all_machines) > 1:
        return counted(len(header.all_machines), "machine")
    places = (place for place, kind in enumerate(kinds, 1) if is_same_machine(header.machine, kind))
    return f"machine {next(places)}"


def _words(machine: Machine) -> str:
    virtual = f", virtualised by {machine.virtualization}" if machine.virtualization else ""
    memory = figures.quantity(machine.memory_bytes, "B")
    return f"{machine.cpu_model}, {counted(machine.cores, 'core')}, {memory}{virtual}"


def _figures(stored: StoredRun, document: RunDocument) -> Iterator[Figure]:
    study, decides = stored.header.study, document.design.deciding_outcome
    valid: dict[CaseLevels, TrialRecord] = {}
    for record in stored.measured:
        if record.is_valid and record.trial.case.role == "treatment":
            valid.setdefault(record.trial.case.levels, record)
    treatments = (own for own in document.findings if own.role == "treatment")
    for at, of_case in grouped(treatments, lambda own: own.case).items():
        first = valid.get(at)
        if first is not None and first.server is not None:
            by_outcome = {own.outcome: own for own in of_case}
            yield Figure(
                subject=_subject(stored.header, first, first.server),
                case=full_label(first.trial.case, study),
                deciding=_cell(None if decides == SERVER_CPU else by_outcome.get(decides), named=True),
                server_cpu=_cell(by_outcome.get(SERVER_CPU)),
            )


def _subject(header: RunHeader, record: TrialRecord, seen: ServerObservation) -> str:
    """The server and its TLS library, by what they said of themselves in this trial."""
    servers = [specimen.name for specimen in header.specimens if specimen.kind == "server"]
    only = servers[0] if len(servers) == 1 else "server"
    only = "external server" if header.guest else only
    name = str(record.trial.case.levels.get("server", only))
    library = seen.tls_library_version
    return f"{name} ({seen.version}){f', {library}' if library else ''}"


def _cell(finding: Finding | None, *, named: bool = False) -> str:
    """The change beside the baseline with its interval; a dash where there is none."""
    if finding is None:
        return figures.NOTHING
    title = f"{outcome_names.title(finding.outcome)} " if named else ""
    mark = figures.mark(finding.judgement)
    change = figures.change_with_interval(finding.ratio)
    return f"{title}{f'{mark} ' if mark else ''}{change}"


def _sorted(rows: Sequence[FigureRow]) -> tuple[FigureRow, ...]:
    """Like cases of different machines and runs beside each other, the newest first."""
    order = {figure.case: place for place, (figure, _, _) in reversed(list(enumerate(rows)))}
    return tuple(sorted(rows, key=lambda row: (order[row[0].case], row[1])))
