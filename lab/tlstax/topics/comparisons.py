"""Cases beside others than their baseline, and outcomes that the baseline does not have.

What stands beside its baseline, a control too, is a finding (`results/document.py`). The overview of a large
study and the tables of its groups show these rows, so none has a section of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, Told
from tlstax.stats.contrasts import contrasts, pooled_ratios
from tlstax.stats.outcomes import UNITS, is_large
from tlstax.study.labels import finding_levels
from tlstax.topics.core import columns
from tlstax.topics.core.columns import Column
from tlstax.topics.core.section import Section
from tlstax.topics.core.topic import Run, Topic


def contrast_rows(run: Run) -> Iterator[Row]:
    """Cases beside those that differ in one factor; then whole ladders, pooled over connections.

    Ladders are pooled where the study has contrasts, or is too large for a section a group.
    """
    yield from contrasts(run.series)
    if is_large(run.study) or run.study.contrasts:
        yield from pooled_ratios(run.series)


def unpaired_rows(run: Run) -> Iterator[Row]:
    """Outcomes that the baseline does not have (plaintext has no handshake), so without a ratio.

    The value is the geometric mean over blocks.
    """
    for estimate in run.estimates:
        comparison = estimate.comparison
        if estimate.alone_mean is not None:
            yield Row(
                role=comparison.case.role,
                outcome=estimate.outcome,
                unit=UNITS[estimate.outcome],
                case=finding_levels(comparison.case),
                interval=estimate.alone_mean,
                negotiated=comparison.negotiated,
            )


def no_sections(_: Told, __: RunDocument) -> Iterator[Section]:
    """What is shown elsewhere has no section."""
    return iter(())


COLUMNS = (
    Column("factor", "TEXT", "the one factor in which both cases differ; empty: the study's own baseline"),
    columns.NOISE_FROM,
    columns.POOLED,
)

CONTRASTS = Topic("contrasts", "Cases that differ in one factor", contrast_rows, no_sections, columns=COLUMNS)
UNPAIRED = Topic("unpaired", "Outcomes that the baseline does not have", unpaired_rows, no_sections)
