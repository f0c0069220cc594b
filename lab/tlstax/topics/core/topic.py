"""What a topic is: how its rows come from a run, or from a bench, its sentences, and how it is laid out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from tlstax.records.trial import StoredRun
from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, Told
from tlstax.stats.estimates import Estimate, estimates
from tlstax.stats.series import Series, Values, series, valid_values
from tlstax.study import Study
from tlstax.topics.core.columns import Column
from tlstax.topics.core.section import Section


@dataclass(frozen=True)
class Run:
    """A stored run, and what several topics are computed from, each computed once.

    MachineFault where a stored histogram cannot be decoded.
    """

    stored: StoredRun

    @property
    def study(self) -> Study:
        """What was planned."""
        return self.stored.header.study

    @cached_property
    def values(self) -> Values:
        """The outcomes of each valid trial."""
        return valid_values(self.study, self.stored.measured)

    @cached_property
    def series(self) -> Series:
        """The same by case and block."""
        return series(self.study, self.stored.measured, self.values)

    @cached_property
    def estimates(self) -> list[Estimate]:
        """Every case beside its baseline."""
        return estimates(self.study, self.stored.measured, self.values)


def _nothing_said(_: object, __: Sequence[Row]) -> Iterable[str]:
    return ()


Source = TypeVar("Source")
Document = TypeVar("Document")


@dataclass(frozen=True)
class TopicOf(Generic[Source, Document]):
    """A topic: its rows, the same in sentences, and the sections that show it within a document.

    `columns` are those of `more` in its rows: two topics with a column of one name mean the same by it.
    """

    name: str
    title: str
    rows: Callable[[Source], Iterable[Row]]
    sections: Callable[[Told, Document], Iterator[Section]]
    sentences: Callable[[Source, Sequence[Row]], Iterable[str]] = _nothing_said
    columns: tuple[Column, ...] = ()

    def told(self, source: Source) -> Told:
        """What the source shows of it. KeyError for a row with a column that is not the topic's."""
        rows = tuple(self.rows(source))
        own = {column.name for column in self.columns}
        for row in rows:
            if strange := row.more.keys() - own:
                raise KeyError(f"topic {self.name} has no column {', '.join(sorted(strange))}")
        sentences = tuple(self.sentences(source, rows)) if rows else ()
        return Told(title=self.title, sentences=sentences, rows=rows)


Topic = TopicOf[Run, RunDocument]
"""A topic of runs."""
