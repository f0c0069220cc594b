"""Which trials stand for a side of a published table in a part of the run, and what they really were. Pure.

A part whose trials are not valid is shown all the same, and said to be what it is: that others compared TLS
with TLS is seen from just such trials. A side that has valid trials is shown by them alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tlstax.findings.core.comparisons import counts_of
from tlstax.findings.core.pooling import Pooling, machines_of
from tlstax.records.trial import TrialRecord
from tlstax.results.published_tables import PartResult, Shown, Standing
from tlstax.study import Choice, Level, Levels, Part, Study, within

PLAINTEXT = "plaintext"

Wanted = Mapping[str, Choice]


@dataclass(frozen=True)
class Side:
    """The trials that are shown of a side, and what is said of them."""

    records: tuple[TrialRecord, ...]
    shown: Shown

    @property
    def levels(self) -> Levels | None:
        """The levels of its case; None where none was run."""
        return self.records[0].trial.case.levels if self.records else None


@dataclass(frozen=True)
class Measured:
    """What a run measured for the tables of its study: every trial that was not sampled, valid or not."""

    study: Study
    parts: tuple[Part, ...]
    records: tuple[TrialRecord, ...]

    @property
    def pooling(self) -> Pooling:
        """How this run's blocks are pooled."""
        return Pooling(self.study.confidence, machines_of(self.records))

    def side(self, *wanted: Wanted) -> Side:
        """The trials whose case has all these levels, controls left out: the valid ones if there are any."""
        return _side(self.records, wanted)


def measured(study: Study, records: Iterable[TrialRecord]) -> Measured:
    """The trials and the parts of a study."""
    return Measured(study, parts_of(study), tuple(records))


def parts_of(study: Study) -> tuple[Part, ...]:
    """The study's parts; a study without any is one."""
    return study.parts or (Part(key="all", title="this run"),)


def part_result(part: Part, run: Measured) -> PartResult:
    """How the trials of a part came out; of its levels, those that set it apart."""
    own = [record for record in run.records if within(record.trial.case.levels, part.within)]
    reasons = Counter(reason for record in own for reason in record.verdict.reasons[:1])
    return PartResult(
        key=part.key,
        title=part.title,
        case={
            name: _several(choice) for name, choice in part.within.items() if name in run.study.levels_of()
        },
        **dict(counts_of(own)),
        reasons=tuple(reason for reason, _ in reasons.most_common()),
    )


def _side(records: Iterable[TrialRecord], wanted: Sequence[Wanted]) -> Side:
    found = [record for record in records if _stands(record, wanted)]
    valid = [record for record in found if record.verdict.value == "valid"]
    kept = tuple(valid or found)
    reasons = Counter(reason for record in found for reason in record.verdict.reasons[:1])
    return Side(
        records=kept,
        shown=Shown(
            standing=_standing(kept),
            trials=len(kept),
            left_out=len(found) - len(kept),
            why="" if valid or not reasons else reasons.most_common(1)[0][0],
            ran=" and ".join(sorted({said for record in kept for said in _ran(record)})),
        ),
    )


def why_not_tested(sides: Sequence[Shown]) -> str:
    """Why these sides cannot be compared as what they are called; empty where they can.

    In short: the reasons of verdicts stand with the part and with each side.
    """
    if any(shown.standing == "not run" for shown in sides):
        return "it was not run"
    bad = [shown for shown in sides if shown.standing != "valid"]
    if not bad:
        return ""
    if all(shown.ran and PLAINTEXT not in shown.ran for shown in sides):
        return "TLS was compared with TLS"
    if all(shown.ran == PLAINTEXT for shown in sides):
        return "plaintext was compared with plaintext"
    return f"its trials are {bad[0].standing}"


def _stands(record: TrialRecord, wanted: Sequence[Wanted]) -> bool:
    case = record.trial.case
    return case.role != "control" and all(within(case.levels, levels) for levels in wanted)


def _standing(records: Sequence[TrialRecord]) -> Standing:
    verdicts = {record.verdict.value for record in records}
    if not verdicts:
        return "not run"
    if verdicts == {"valid"}:
        return "valid"
    return "invalid" if "invalid" in verdicts else "unknown"


def _ran(record: TrialRecord) -> set[str]:
    """What the connections that did the work spoke, as the server saw it, else as both sides said before."""
    if record.server is not None and record.server.connections:
        return {seen.version or PLAINTEXT for seen in record.server.connections}
    if record.done is not None and record.done.window.handshakes:
        return {seen.version for seen in record.done.window.handshakes}
    negotiated = record.ready.negotiated if record.ready is not None else ()
    return {view.version if (view := seen.server or seen.client) else PLAINTEXT for seen in negotiated}


def _several(choice: Choice) -> tuple[Level, ...]:
    return choice if isinstance(choice, tuple) else (choice,)
