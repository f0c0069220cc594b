"""Results and statements of any size, on a real server: as many bytes as they say, and their curves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Home

from tlstax.specimens.server_build import ServerBuild
from tlstax.stats.outcomes import outcome
from tlstax.store import Store
from tlstax.topics.bulk import MIB_PER_S, SHARE

ROW_BYTES_OF_PROTOCOL = 4 + 3
"""A packet's header, and the length of a value of more than 250 bytes ("Protocol::LengthEncodedInteger")."""

RECORD_BYTES = 22
"""What TLS 1.3 adds to a record: header, type, AEAD's tag (RFC 8446, 5.2)."""


def bulk_rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    """What a printed run has of bytes a second and their costs."""
    rows: list[dict[str, Any]] = document["topics"]["bulk"]["rows"]
    return rows


def kind(row: dict[str, Any]) -> tuple[str, int | None]:
    """Which way its bytes go, and in rows of which length where they are several."""
    return row["more"]["direction"], row["more"].get("rows_of_bytes")


@pytest.mark.long
def test_as_many_bytes_cross_as_a_workload_says(tmp_path: Path, mysql_build: ServerBuild) -> None:
    assert mysql_build
    home = Home(tmp_path / "data")
    few = (
        "workload=rows-1x1000,rows-2000x1000,sent-300000",
        "tls=off,1.3",
    )
    asked = [part for level in few for part in ("--set", level)]
    done = home.run("study", "run", "bytes", *asked, "--budget", "6s", "--over-budget", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0, document["caveats"]
    curves = {(row["case"]["cipher"], *kind(row)) for row in bulk_rows(document)}
    assert len(curves) == 4 * 3
    with Store.open(home.data / "store.sqlite") as store:
        (summary,) = store.runs()
        measured = store.load(summary.run).measured
    for record in measured:
        case = record.trial.case.levels
        sent, received = (outcome(record, f"bytes_{way}_per_op") for way in ("sent", "received"))
        assert sent is not None
        assert received is not None
        if case.workload == "sent-300000":
            assert 300_000 < sent < 300_000 + 200 + (300_000 // 16_384 + 1) * RECORD_BYTES
        if case.workload == "rows-2000x1000":
            rows = 2000 * (1000 + ROW_BYTES_OF_PROTOCOL)
            # Servers write pieces of their own lengths: a record may be as short as a few KiB.
            assert rows < received < rows * (1 + RECORD_BYTES / 1000) + 500
            plain = case.tls == "off"
            assert (received < rows + 500) == plain


@pytest.mark.long
def test_each_inserted_row_is_counted_and_the_table_begins_empty(
    tmp_path: Path, mysql_build: ServerBuild
) -> None:
    assert mysql_build
    home = Home(tmp_path / "data")
    asked = (
        "--set",
        "workload=insert-1000,insert-20x1000",
        "--set",
        "tls=off,1.3",
        "--set",
        "cipher=default",
    )
    done = home.run("study", "run", "bytes", *asked, "--budget", "6s", "--over-budget", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0, document["caveats"]
    assert {kind(row) for row in bulk_rows(document)} == {
        ("inserted", None),
        ("inserted", 1000),
    }
    with Store.open(home.data / "store.sqlite") as store:
        (summary,) = store.runs()
        measured = store.load(summary.run).measured
    assert measured
    for record in measured:
        (table,) = record.data
        assert (table.table, table.rows) == ("bodies", 0)
        rows = 20 if record.trial.case.levels.workload == "insert-20x1000" else 1
        sent = outcome(record, "bytes_sent_per_op")
        assert sent is not None
        assert rows * 1000 < sent < rows * 1010 + 100


@pytest.mark.long
@pytest.mark.parametrize("way", ["path=direct,stunnel", "rtt_ms=0,4"])
def test_bytes_through_a_tunnel_or_from_afar_have_their_rates_and_costs(
    tmp_path: Path, mysql_build: ServerBuild, way: str
) -> None:
    assert mysql_build
    home = Home(tmp_path / "data")
    levels = ("workload=rows-1x1000,rows-20x10240", "tls=off,1.3", "cipher=default", way)
    asked = [part for level in levels for part in ("--set", level)]
    done = home.run("study", "run", "bytes", *asked, "--budget", "6s", "--over-budget", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0, document["caveats"]
    factor = way.partition("=")[0]
    ways = {row["case"][factor] for row in bulk_rows(document)}
    assert ways == ({"direct", "stunnel"} if factor == "path" else {0, 4})
    labels = {row["label"] for row in bulk_rows(document)}
    assert len(labels) == 2 * len(ways), "what is not alike is not called alike"
    sizes = [row for row in bulk_rows(document) if row["outcome"] == MIB_PER_S]
    assert len(sizes) == 2 * 2 * len(ways)
    for size in sizes:
        place = (size["case"], size["more"])
        values = {
            row["outcome"]: row["value"]
            for row in bulk_rows(document)
            if place == (row["case"], row["more"]) and row["of"] == "value"
        }
        assert values[MIB_PER_S] > 0
        assert values["server CPU of a MiB"] > 0
        assert values["client CPU of a MiB"] > 0
        assert ("path CPU of a MiB" in values) == (size["case"].get("path") == "stunnel")


@pytest.mark.long
def test_a_connection_for_one_result_shows_the_handshakes_share(
    tmp_path: Path, mysql_build: ServerBuild
) -> None:
    assert mysql_build
    home = Home(tmp_path / "data")
    sizes = "workload=connect-rows-1x64,connect-rows-1x1048576,connect-rows-56x1048576"
    done = home.run(
        "study", "run", "connect-bytes", "--set", sizes, "--budget", "12s", "--over-budget", "--json"
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0, document["caveats"]
    shares: dict[tuple[str, str], list[float]] = {}
    for row in bulk_rows(document):
        own = shares.setdefault((row["case"]["tls"], row["case"]["resumption"]), [])
        own += [row["value"]] if row["outcome"] == SHARE else []
    assert len(shares) == 3
    assert shares["off", "off"] == []
    full = shares["1.3", "off"]
    assert 0.3 < full[0] < 1
    assert full == sorted(full, reverse=True)
    assert full[-1] < 0.1
