"""What others published of a question: statements, figures and tables, each with its source."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from tlstax.contract import Frozen
from tlstax.study.factors import Choice
from tlstax.study.level_names import Level

Side = Annotated[tuple[Level, ...], Field(min_length=1)] | Annotated[dict[str, Choice], Field(min_length=1)]
"""One side of a statement: levels of its factor, or the levels of several factors."""


StatementKind = Literal["better", "best", "alike", "no worse"]


ALIKE_WITHIN = 1.05
"""The factor within which two things count as alike, where a study names no other: 5 %."""


class Statement(Frozen):
    """A published statement that a study puts to the test: `better` do better in `outcome` than `than`.

    Both are levels of `factor`; or, where the two sides differ in several factors at once (a tunnel
    without TLS, TLS without a tunnel), both name the levels of these, and there is no `factor`. Where one
    server has run both, they are compared directly; otherwise only
    their ratios to that server's own baseline are. `kind` "best" means better than all of `than` in most
    cases; "alike" that neither is better by `by` or more; "no worse" as good or better. Where a statement
    says by how much, `by` is the factor at least. One that does not is answered with "alike" where the two
    are known to differ by less than the factor `alike_within`, which is fixed beforehand: an equivalence test
    (Schuirmann, 1987). `within` names the cases that it is said of.
    """

    says: str = Field(min_length=1)
    source: str = Field(min_length=1)
    kind: StatementKind = "better"
    by: float = Field(default=1.0, ge=1.0)
    alike_within: float = Field(default=ALIKE_WITHIN, gt=1.0)
    factor: str = ""
    better: Side
    than: Side
    outcome: str = "ops_per_s"
    within: dict[str, Choice] = {}

    @model_validator(mode="after")
    def _has_like_sides(self) -> Self:
        tables = {isinstance(side, dict) for side in (self.better, self.than)}
        if tables != {not self.factor}:
            raise ValueError(
                f"{self.says!r} compares either levels of its factor, or, without one, tables of levels"
            )
        return self

    def sides(self) -> tuple[dict[str, Choice], dict[str, Choice]]:
        """The levels of both sides, the better's first."""
        return self._levels_of(self.better), self._levels_of(self.than)

    def factors(self) -> tuple[str, ...]:
        """The factors in which the two sides may differ; they are alike in every other one."""
        return tuple(dict.fromkeys(name for side in self.sides() for name in side))

    def _levels_of(self, side: Side) -> dict[str, Choice]:
        return dict(side) if isinstance(side, dict) else {self.factor: side}


class GrowthClaim(Frozen):
    """A published statement that what encryption costs grows with the distance (`rtt_ms`).

    It may mean the time that it adds to a connection or the share that it takes of their rate, so it is put
    to the test both ways. `within` names the cases that it is said of.
    """

    says: str = Field(min_length=1)
    source: str = Field(min_length=1)
    within: dict[str, Choice] = {}


class Published(Frozen):
    """A figure that others published, to stand beside what is measured here.

    `outcome` is the outcome that it is a figure of, empty where none here is. `beside` names the one case
    that stands in for it here, by as many of its levels as it takes; empty where none does. `against` is
    the label of the figure that both are set in ratio to. `conditions` are how it was measured,
    `note` is what else to know of it.
    """

    label: str = Field(min_length=1)
    value: PositiveFloat
    unit: str = Field(min_length=1)
    source: str = Field(min_length=1)
    outcome: str = ""
    against: str = ""
    beside: dict[str, Level] = {}
    conditions: str = ""
    note: str = ""


class Column(Frozen):
    """One side of a published table: its name there, and the levels that stand for it here."""

    name: str = Field(min_length=1)
    levels: dict[str, Level] = Field(min_length=1)


ProcessorColumn = Literal["user", "nice", "system", "iowait", "steal", "idle"]
PROCESSOR_COLUMNS: tuple[ProcessorColumn, ...] = ("user", "nice", "system", "iowait", "steal", "idle")


class Claim(Frozen):
    """What the text says of its own table: the `kind` of value in a column, and when (None: not said)."""

    says: str = Field(min_length=1)
    side: str
    column: ProcessorColumn
    kind: Literal["highest", "mean"]
    value: float
    at_s: float | None = None


class ProcessorTable(Frozen):
    """A published table of what the processors did, a row every `step_s`, in per cent.

    `rows` holds for each side, by its name, a row of PROCESSOR_COLUMNS for each time; "-" where no number is
    printed. `within` names the cases that it is of, `claims` are what its text says of it.
    """

    number: str
    title: str
    source: str
    step_s: PositiveFloat
    within: dict[str, Choice] = {}
    sides: tuple[Column, ...] = Field(min_length=2)
    rows: dict[str, tuple[tuple[float | Literal["-"], ...], ...]]
    claims: tuple[Claim, ...] = ()


class TimeRow(Frozen):
    """A line of a published table of times: its name, its cases, and a value for each side by its name."""

    label: str
    within: dict[str, Choice] = {}
    values: dict[str, PositiveFloat]


class TimeTable(Frozen):
    """A published table of mean times in seconds, a line for each kind of statement.

    Each time is of a round of `queries` operations, and there were N `rounds`; None where not known.
    """

    number: str
    title: str
    source: str
    outcome: str
    queries: PositiveInt | None = None
    rounds: PositiveInt | None = None
    sides: tuple[Column, ...] = Field(min_length=2)
    rows: tuple[TimeRow, ...] = Field(min_length=1)
