"""What the page shows of drivers, as plain values for the template. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.report.core.table import Table
from tlstax.report.drivers.charts import WarmupChart, warmup_chart
from tlstax.report.drivers.tables import driver_tables
from tlstax.results.document import RunDocument


@dataclass(frozen=True)
class DriversSection:
    """Tables of defaults, splits and warm-ups, and the chart of the last."""

    tables: tuple[Table, ...]
    chart: WarmupChart | None


def drivers_section(document: RunDocument) -> DriversSection | None:
    """The section; None for a run without drivers."""
    if document.drivers is None:
        return None
    return DriversSection(
        tables=tuple(driver_tables(document.drivers)), chart=warmup_chart(document.drivers.warmups)
    )
