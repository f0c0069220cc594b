"""Files of authorities, as rows for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.report.core.csv_row import Row, amount, levels
from tlstax.results.document import RunDocument


def rows(document: RunDocument) -> Iterator[Row]:
    """A row for each client and number of authorities, of its time and of its CPU time."""
    for cost in document.trust:
        reads = "" if cost.reads is None else f"; the file was read {cost.reads:.2f} times a connect"
        for outcome, value in (
            ("time of a connect", cost.more_us),
            ("client CPU of a connect", cost.more_cpu_us),
        ):
            if value is not None:
                yield {
                    "role": "trust",
                    "outcome": outcome,
                    "unit": "us",
                    **levels("case", cost.case),
                    **amount(value),
                    "caveats": f"with {cost.authorities} authorities, more than with one{reads}",
                }
