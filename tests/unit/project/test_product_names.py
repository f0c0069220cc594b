"""Which product a server is, is read from its version in one place alone."""

from __future__ import annotations

import re
from pathlib import Path

LAB = Path(__file__).resolve().parents[3] / "lab" / "tlstax"
READ_FROM_A_VERSION = re.compile(r"""["'][Mm]aria[Dd][Bb]["']\s+(?:not\s+)?in\s+\w*\.?\w*version""")


def test_no_other_place_reads_the_product_from_a_version() -> None:
    found = [
        str(path.relative_to(LAB))
        for path in LAB.rglob("*.py")
        if READ_FROM_A_VERSION.search(path.read_text(encoding="utf-8"))
    ]
    assert found == ["study/product.py"]


COUNTERS_ELSEWHERE = {
    "mysql/": "asks the server",
    "postgres/": "asks the server",
    "records/server_counts.py": "reads what is stored",
}
COUNTERS = re.compile(
    r"""["'](?:Com_\w+|Innodb_rows_\w+|Handler_\w+|Ssl_\w+|Questions|Bytes_\w+|pg_stat_[\w.]+)["']"""
)


def test_no_other_place_reads_a_product_s_counters() -> None:
    """A new product counts otherwise, or not at all: checks, statistics and reports ask for a `Count`."""
    found = {
        str(path.relative_to(LAB))
        for path in LAB.rglob("*.py")
        if COUNTERS.search(path.read_text(encoding="utf-8"))
    }
    assert [name for name in sorted(found) if not name.startswith(tuple(COUNTERS_ELSEWHERE))] == []
    assert {"mysql/status.py", "records/server_counts.py"} <= found


def test_a_counter_is_seen() -> None:
    for source in ('delta["Com_select"]', "get('pg_stat_database.xact_commit')"):
        assert COUNTERS.search(source)
    assert not COUNTERS.search('"Comments_on"')
