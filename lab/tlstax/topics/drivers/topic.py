"""Drivers as a topic: what they do when nothing is said of TLS, what an upgrade costs, how they warm up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, Told
from tlstax.topics.core.section import OnPage, Section
from tlstax.topics.core.topic import Run, Topic
from tlstax.topics.drivers import defaults, splits, warmups


def rows(run: Run) -> Iterator[Row]:
    """What drivers did by default, what each part of an upgrade costs, how they warmed up."""
    observations = defaults.observed(run.stored.measured)
    yield from defaults.rows(run.series, observations)
    yield from splits.rows(run.series, observations)
    yield from warmups.rows(run.study, run.stored.measured)


def sentences(run: Run, shown: Sequence[Row]) -> Iterator[str]:
    """What each upgrade is made of, what drivers do without TLS options, then what else costs what."""
    own = splits.splits_of(shown)
    yield from (splits.sentence(split, run.study) for split in own if split.together is not None)
    yield from defaults.sentences(shown, run.study)
    yield from (splits.sentence(split, run.study) for split in own if split.together is None)


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """A table of each kind for which there is something; on the page warm-ups are drawn too."""
    blocks = [*defaults.tables(told)]
    if own := splits.splits_of(told.rows):
        blocks.append(splits.table(own, document.design))
    if warm := told.of(role=warmups.WARM_UP):
        blocks += [warmups.table(warm), OnPage(lambda: warmups.chart(told))]
    yield Section(tuple(blocks), told.title)


COLUMNS = (*defaults.COLUMNS, *splits.COLUMNS, *warmups.COLUMNS)

TOPIC = Topic("drivers", "Drivers", rows, sections, sentences, COLUMNS)
