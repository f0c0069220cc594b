"""Where the extra cost of one case goes: what `tlstax explain` says, and what reports show of every case."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tlstax.results.interval import DIFFERENCES, Interval
from tlstax.results.rows import Document, Row
from tlstax.study.labels import CONTROL_MARK


class Explanation(Document):
    """From a baseline to a case: which components and functions the extra CPU time of an operation went into.

    `title` names the two. Of the rows, as docs/tables.md has those of the topic `explain`, the first is the
    whole of it; the others have roles: `component` (those that changed most first), `function`, `culprit`,
    `shift`, `sampled`, `removal predicted` and `removal measured`. `sentences` say all of it in words, the
    culprit first. Within the factor `alike_within` of the baseline's cost two cases are alike.
    """

    schema_version: Literal[3] = Field(default=3, alias="schema")
    run: str
    title: str
    alike_within: float
    sentences: tuple[str, ...] = ()
    rows: tuple[Row, ...] = Field(min_length=1)

    @property
    def whole(self) -> Row:
        """What an operation of the case costs, client and server together, and of its baseline."""
        return self.rows[0]

    @property
    def extra(self) -> Interval:
        """What an operation costs more, in microseconds of CPU time."""
        return self.whole.difference

    @property
    def case_us(self) -> float:
        """What an operation of the case costs."""
        return self.whole.value or 0.0

    @property
    def baseline_us(self) -> float:
        """What an operation of its baseline costs."""
        return self.whole.baseline_value or 0.0

    @property
    def whole_is_told(self) -> bool:
        """Whether the extra as a whole is told from noise."""
        return self.whole.judgement in DIFFERENCES

    @property
    def is_explained(self) -> bool:
        """Whether the whole, or a culprit by itself, is told from noise."""
        return self.whole_is_told or self.culprit is not None

    @property
    def labels(self) -> tuple[str, str]:
        """The case and what it is held against, in words."""
        return self.whole.label, self.whole.word("compared_with")

    @property
    def operation(self) -> str:
        """What an operation is called."""
        return self.whole.word("operation")

    @property
    def is_control(self) -> bool:
        """Whether these are two equal cases."""
        return bool(self.whole.case.keys() & CONTROL_MARK)

    @property
    def culprit(self) -> Row | None:
        """The function that most of the extra goes into, where there is one."""
        return next(iter(self.of("culprit")), None)

    @property
    def components(self) -> tuple[Row, ...]:
        """Every component of each side, those that changed most first."""
        return self.of("component")

    def of(self, role: str) -> tuple[Row, ...]:
        """The rows of a role."""
        return tuple(row for row in self.rows if row.role == role)
