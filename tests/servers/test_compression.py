"""Compression between the engine and real servers: agreed on by both, right to the last row, or refused."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path

import pytest
from command_line import Home
from load_jobs import ROWS, WITHIN_S, client, job, measured

from tlstax.clients.process import ClientFailure
from tlstax.contract import Compression, CompressionAgreed, TlsOff, TlsOn
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.sql import answers
from tlstax.sql.table_rows import TableContent, answers_of
from tlstax.topics.bulk import ON_THE_WIRE, TO_PLAINTEXT

MIB = 1 << 20


@pytest.fixture
def filled(private: PrivateServer) -> PrivateServer:
    private.prepare_table(TableContent(rows=ROWS, seed=1))
    return private


def encryption(server: PrivateServer, tls: str) -> TlsOff | TlsOn:
    return TlsOff() if tls == "off" else TlsOn(verify="identity", ca_file=server.ca_file)


@pytest.mark.parametrize("tls", ["off", "on"])
@pytest.mark.parametrize("how", ["off", "zlib", "zstd"])
def test_both_sides_agree_and_the_rows_are_the_servers(
    filled: PrivateServer, tls: str, how: Compression
) -> None:
    asked = job(filled, "rows-300x1000", compression=how, tls=encryption(filled, tls), operations=40)
    if how == "zstd" and "MariaDB" in filled.version:
        with pytest.raises(ClientFailure) as caught:
            measured(asked)
        assert caught.value.errors[0].kind == "no_compression"
        assert "CLIENT_ZSTD_COMPRESSION_ALGORITHM" in caught.value.errors[0].message
        return
    ready, done = measured(asked)
    server = "on" if how == "zlib" and "MariaDB" in filled.version else how
    assert [seen.compression for seen in ready.negotiated] == [CompressionAgreed(client=how, server=server)]
    assert done.operations == 40
    assert done.row_samples
    with closing(filled.admin()) as admin:
        assert answers.mismatches(admin, done.row_samples, asked.workload.on_connect) == ()
    assert done.wire is not None
    values = 40 * 300 * 1000
    if how == "off":
        assert done.compression is None
        assert done.wire.bytes_received > values
    else:
        assert done.compression is not None
        assert done.compression.plain_received > values
        assert 0.4 * values < done.compression.packed_received < 0.65 * values
        assert done.compression.packed_received <= done.wire.bytes_received < 0.66 * values


@pytest.mark.parametrize("name", ["point-select", "reconnect", "oltp-read-write", "select-range"])
def test_every_kind_of_statement_goes_through(mysql: PrivateServer, name: str) -> None:
    mysql.prepare_table(TableContent(rows=ROWS, seed=1))
    for how in ("zlib", "zstd"):
        _, done = measured(job(mysql, name, compression=how, operations=60))
        assert done.operations + sum(error.count for error in done.errors) == 60
        assert all(error.code in {1205, 1213} for error in done.errors)


def test_answers_of_one_row_are_digits_that_a_compression_halves(mainly_mysql: PrivateServer) -> None:
    mainly_mysql.prepare_table(answers_of((20_000, MIB), 1))
    for size in (20_000, MIB):
        asked = job(mainly_mysql, f"session-2x{size}", compression="zlib", operations=8)
        _, done = measured(asked)
        assert done.operations == 8
        assert done.compression is not None
        values = 8 * 2 * size
        assert values < done.compression.plain_received < values + 8 * 1000
        assert 0.45 * values < done.compression.packed_received < 0.55 * values
        with closing(mainly_mysql.admin()) as admin:
            assert answers.mismatches(admin, done.row_samples, ()) == ()


def test_what_is_sent_is_compressed_and_comes_to_the_server_whole(mysql: PrivateServer) -> None:
    mysql.prepare_table(TableContent(rows=ROWS, seed=1))
    for how in ("zlib", "zstd"):
        _, done = measured(job(mysql, f"sent-{MIB}", compression=how, operations=8))
        assert {sample.rows for sample in done.row_samples} == {((str(MIB),),)}
        assert done.compression is not None
        assert done.compression.plain_sent > 8 * MIB
        assert done.compression.packed_sent < 0.55 * done.compression.plain_sent


@pytest.mark.long
def test_answers_of_many_mebibytes_are_not_kept(mysql: PrivateServer) -> None:
    """Rows of 100 bytes come in compressed packets of some KiB; what the engine holds does not grow."""
    mysql.prepare_table(TableContent(rows=ROWS, seed=1))
    for how in ("off", "zlib", "zstd"):
        asked = job(mysql, "rows-160000x100", compression=how, connections=1, operations=3)
        with client(asked) as started:
            started.wait_ready(WITHIN_S)
            before = peak_bytes(started.watched_pid)
            started.go()
            done = started.wait_done(WITHIN_S)
            grown = peak_bytes(started.watched_pid) - before
        assert done.operations == 3
        assert grown < 4 * MIB, how


def peak_bytes(pid: int | None) -> int:
    """The most memory that a process has held (proc(5), VmHWM)."""
    text = Path(f"/proc/{pid or os.getpid()}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmHWM")) << 10


@pytest.mark.long
def test_a_study_proves_it_and_reports_bytes_and_costs(tmp_path: Path, mysql_build: ServerBuild) -> None:
    assert mysql_build
    home = Home(tmp_path / "data")
    asked = ("study", "run", "compression", "--set", "workload=rows-100x10240,sent-100000")
    done = home.run(*asked, "--budget", "6s", "--over-budget", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0, document["caveats"]
    rows = document["topics"]["bulk"]["rows"]
    on_the_wire = [row for row in rows if row["outcome"] == ON_THE_WIRE]
    assert on_the_wire
    for row in on_the_wire:
        case, place = row["case"], (row["case"], row["more"])
        assert (0.4 < row["value"] < 0.7) == (case["compression"] != "off")
        is_baseline = case["tls"] == case["compression"] == "off"
        beside = [other for other in rows if place == (other["case"], other["more"])]
        assert any(other["outcome"] == TO_PLAINTEXT for other in beside) != is_baseline


@pytest.mark.long
def test_what_a_server_lacks_is_left_out_unless_it_was_asked_for(
    tmp_path: Path, mariadb_build: ServerBuild
) -> None:
    assert mariadb_build
    home = Home(tmp_path / "data")
    asked = ("--set", "server=mariadb-11.8", "--set", "workload=point-select", "--budget", "6s")
    refused = home.run("study", "run", "compression", *asked, "--over-budget", "--set", "compression=zstd")
    assert refused.returncode == 2
    assert "compression = zstd: mariadb-11.8 does not compress by zstd" in refused.stderr
    assert "Traceback" not in refused.stderr
    done = home.run("study", "run", "compression", *asked, "--over-budget", "--json")
    assert done.returncode == 0, done.stderr
    assert "2 cases left out: mariadb-11.8 does not compress by zstd" in done.stderr
    document = json.loads(done.stdout)
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0, document["caveats"]
    assert {finding["case"]["compression"] for finding in document["findings"]} == {"off", "zlib"}
