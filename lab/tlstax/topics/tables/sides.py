"""Which trials stand for a side of a published table in a part of the run, and what they really were.

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
from tlstax.results.rows import More, Row
from tlstax.study import Choice, Level, Levels, Part, Study, within
from tlstax.topics.core import columns
from tlstax.topics.core.columns import Column

PLAINTEXT = "plaintext"

PART_ROLE, SIDE_ROLE = "table, part", "table, side"
"""Roles of rows: how the trials of a part came out, and those that stand for a side of a table there."""

TABLE, PART, SIDE, AGAINST, UNTIL, TRIALS = (
    "published_table",
    "part",
    "side",
    "against",
    "until_s",
    "trials",
)
STANDING, RAN, WHY, LEFT_OUT, OPERATIONS = "standing", "ran", "why", "left_out_trials", "operations"
INVALID, UNKNOWN, PUBLISHED, POINTS = "invalid_trials", "unknown_trials", "published", "published_points"

COLUMNS = (
    Column(TABLE, "TEXT", "the number of a published table"),
    Column(PART, "TEXT", "the part of the study that was measured in its place"),
    columns.SIDE,
    Column(UNTIL, "REAL", "when the step ends that a row of the table is of", "s"),
    Column(STANDING, "TEXT", "what the trials of a side were found to be: valid, invalid, unknown, not run"),
    Column(RAN, "TEXT", "what was seen on their connections: plaintext, TLSv1.3 or both"),
    Column(WHY, "TEXT", "the most frequent reason why trials are not valid"),
    columns.TRIALS,
    Column(LEFT_OUT, "INTEGER", "how many trials that are not valid are left out, as valid ones are shown"),
    Column(INVALID, "INTEGER", "how many trials of a part are invalid"),
    Column(UNKNOWN, "INTEGER", "of how many trials of a part that is not known"),
    Column(OPERATIONS, "INTEGER", "how many operations a round has"),
    Column(POINTS, "REAL", "the published difference, in percentage points"),
    columns.AGAINST,
    columns.PUBLISHED,
)

Wanted = Mapping[str, Choice]


@dataclass(frozen=True)
class Shown:
    """The trials that stand for one side of a table in one part: how many, and what was found of them.

    `standing` is "valid", "invalid", "unknown" or "not run"; `why` the most frequent reason why they are not
    valid; `left_out` counts trials that are not valid, where valid ones are shown. `ran` is what the server
    or the client saw on the connections that did the work: "plaintext", "TLSv1.3", both; empty where neither
    said.
    """

    standing: str
    trials: int = 0
    left_out: int = 0
    why: str = ""
    ran: str = ""

    @classmethod
    def of(cls, row: Row) -> Shown:
        """What a row of a side says of it."""
        left_out = round(row.number(LEFT_OUT) or 0)
        return cls(row.word(STANDING), round(row.value or 0), left_out, row.word(WHY), row.word(RAN))

    def row(self, case: dict[str, Level], label: str, more: Mapping[str, More]) -> Row:
        """The same as a row of this place."""
        known = {STANDING: self.standing, RAN: self.ran, WHY: self.why, LEFT_OUT: self.left_out}
        return Row(
            role=SIDE_ROLE,
            outcome=TRIALS,
            unit="1",
            label=label,
            case=case,
            value=self.trials,
            more={**more, **known},
        )


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


def part_row(part: Part, run: Measured) -> Row:
    """How many trials of a part are valid; of its levels, those that set it apart."""
    own = [record for record in run.records if within(record.trial.case.levels, part.within)]
    reasons = Counter(reason for record in own for reason in record.verdict.reasons[:1])
    counts = counts_of(own)
    return Row(
        role=PART_ROLE,
        outcome=TRIALS,
        unit="1",
        label=part.title,
        case=case_of(own_levels(part, run.study)),
        value=counts.valid,
        more={
            PART: part.key,
            INVALID: counts.invalid,
            UNKNOWN: counts.unknown,
            WHY: next(iter(reason for reason, _ in reasons.most_common(1)), ""),
        },
    )


def own_levels(part: Part, study: Study) -> dict[str, Choice]:
    """Of a part's levels those of the study's factors."""
    return {name: choice for name, choice in part.within.items() if name in study.levels_of()}


def case_of(*chosen: Mapping[str, Choice]) -> dict[str, Level]:
    """The levels of a case, those of later choices first; of a choice among several levels, none."""
    known = {name: choice for own in chosen for name, choice in own.items()}
    several = {name: choice if isinstance(choice, tuple) else (choice,) for name, choice in known.items()}
    return {name: levels[0] for name, levels in several.items() if len(levels) == 1}


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


def _standing(records: Sequence[TrialRecord]) -> str:
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
