"""Programs that copy a server: what they are told, what a copy holds, what they complain of."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tlstax.clients.adapter import Refusal
from tlstax.clients.companions import COME_WITH
from tlstax.clients.streams import demand
from tlstax.clients.streams.child import failure_in
from tlstax.clients.streams.received import (
    Incomplete,
    bytes_of_files,
    files_of_backup,
    files_of_unpacked_backup,
    rows_of_changes,
    rows_of_copy,
    rows_of_inserts,
)
from tlstax.contract import Account, Job, StreamTerms, TcpEndpoint, TlsOff, TlsOn, UnixEndpoint
from tlstax.contract.job import MySqlServer, PostgreSqlServer
from tlstax.study.client_kinds import PROGRAMS, STREAMS
from tlstax.study.workloads import statements

PASSWORD = "a:b\\c\"d'"
FOLDER = "/folder"
SEGMENTS = ("000000010000000000000002", "000000010000000000000003")


def job(name: str, names: tuple[str, ...] = ("sbtest1",), **changes: Any) -> Job:
    of_libpq = demand.TOOLS[name].speaks_libpq
    asked = {
        "endpoint": TcpEndpoint(host="192.0.2.7", port=5433),
        "server": PostgreSqlServer() if of_libpq else MySqlServer(),
        "account": Account(user="load", password=PASSWORD, database="shop"),
        "tls": TlsOff(),
        "workload": statements.stream("sbtest1", 10),
        "connections": 1,
        "duration_s": 1.0,
        "seed": 7,
        "stream": StreamTerms(names=names, holds={"rows": 10}),
    }
    return Job(**{**asked, **changes})


def told(name: str, **changes: Any) -> list[str]:
    """All that the program is told on its command line."""
    wanted = job(name, **changes)
    tool = demand.TOOLS[name]
    return [*tool.secrets(wanted).words("/proc/self/fd/9")[1], *tool.arguments(wanted, FOLDER)]


def test_each_kind_of_client_is_a_program_with_its_own_words() -> None:
    assert set(demand.TOOLS) == {kind.name for kind in STREAMS}
    assert set(COME_WITH) < {kind.name for kind in PROGRAMS}


@pytest.mark.parametrize("name", demand.TOOLS)
def test_no_password_is_on_a_command_line_or_in_an_environment(name: str) -> None:
    environment = demand.TOOLS[name].environment(job(name))
    said = " ".join([*told(name, names=SEGMENTS), *environment.values()])
    assert PASSWORD not in said
    assert PASSWORD not in repr(demand.TOOLS[name].secrets(job(name)))


def test_a_dump_is_of_the_table_that_the_job_names() -> None:
    assert told("pg-dump") == ["--no-password", "--no-sync", "--table=sbtest1"]
    assert told("mysqldump")[-2:] == told("mariadb-dump")[-2:] == ["shop", "sbtest1"]


def test_the_options_file_comes_first_where_mysqls_programs_demand_it() -> None:
    for name in ("mysqldump", "mysqlbinlog", "mariadb-dump", "mariadb-binlog"):
        assert told(name)[0] == "--defaults-file=/proc/self/fd/9"


def test_a_log_ends_with_the_last_segment_and_begins_after_the_one_before_the_first() -> None:
    assert "--endpos=0/4000000" in told("pg-receivewal", names=SEGMENTS)
    assert demand.before(SEGMENTS[0]) == "000000010000000000000001"
    last_of_a_file = "0000000100000000000000FF"
    assert demand.before("000000010000000100000000") == last_of_a_file
    assert "--endpos=1/0" in told("pg-receivewal", names=(last_of_a_file,))


def test_a_log_of_mysql_is_asked_for_file_by_file() -> None:
    files = ("binlog.000001", "binlog.000002")
    for name in ("mysqlbinlog", "mariadb-binlog"):
        assert told(name, names=files)[-4:] == ["--raw", f"--result-file={FOLDER}/", *files]


def test_tls_is_asked_for_in_the_words_of_each_product() -> None:
    tls = TlsOn(verify="identity", ca_file="/ca.pem", min_version="1.3", max_version="1.3")
    assert {"--ssl-mode=VERIFY_IDENTITY", "--ssl-ca=/ca.pem", "--tls-version=TLSv1.3"} <= set(
        told("mysqldump", tls=tls)
    )
    assert {"--ssl", "--ssl-verify-server-cert", "--ssl-ca=/ca.pem", "--tls-version=TLSv1.3"} <= set(
        told("mariadb-dump", tls=tls)
    )
    environment = demand.TOOLS["pg-dump"].environment(job("pg-dump", tls=tls))
    assert environment["PGSSLMODE"] == "verify-full"
    assert environment["PGSSLMINPROTOCOLVERSION"] == environment["PGSSLMAXPROTOCOLVERSION"] == "TLSv1.3"


def test_in_the_clear_nothing_is_encrypted_unasked() -> None:
    assert "--ssl-mode=DISABLED" in told("mysqlbinlog")
    assert "--skip-ssl" in told("mariadb-binlog")
    assert demand.TOOLS["pg-basebackup"].environment(job("pg-basebackup"))["PGSSLMODE"] == "disable"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"stream": None}, "what is to be copied"),
        ({"endpoint": UnixEndpoint(path="/run/socket")}, "over TCP alone"),
        ({"connections": 2}, "one connection at a time"),
        ({"tls": TlsOn(groups="P-256")}, "no option for groups"),
    ],
)
def test_what_none_of_them_does_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        demand.check(job("pg-dump", **changes))


OF_PG_DUMP = b"SET x = 1;\nCOPY public.sbtest1 (id, c) FROM stdin;\n1\ta\n2\tb\n\\.\n\nALTER TABLE x;\n"
OF_MYSQLDUMP = b"INSERT INTO `sbtest1` VALUES (1,'a'),(2,'b');\nINSERT INTO `sbtest1` VALUES (3,'c');\n"
OF_MARIADB_DUMP = b"INSERT INTO `sbtest1` VALUES\n(1,'a'),\n(2,'b'),\n(3,'c');\n"
COMPLETED = b"-- Dump completed\n"


def test_rows_of_a_dump_are_counted_and_its_length() -> None:
    assert rows_of_copy(io.BytesIO(OF_PG_DUMP)) == ({"rows": 2}, len(OF_PG_DUMP))
    assert rows_of_inserts(io.BytesIO(OF_MYSQLDUMP + COMPLETED))[0] == {"rows": 3}
    whole = OF_MARIADB_DUMP + COMPLETED
    assert rows_of_inserts(io.BytesIO(whole)) == ({"rows": 3}, len(whole))


def test_rows_of_decoded_changes_are_counted() -> None:
    text = (
        b"BEGIN\ntable public.tlstax_changes: INSERT: id[integer]:1 c[character]:'a'\n"
        b"table public.tlstax_changes: INSERT: id[integer]:2 c[character]:'b'\nCOMMIT\n"
    )
    assert rows_of_changes(io.BytesIO(text)) == ({"rows": 2}, len(text))
    with pytest.raises(Incomplete, match="middle of a transaction"):
        rows_of_changes(io.BytesIO(text.removesuffix(b"COMMIT\n")))
    assert rows_of_changes(io.BytesIO(text + b"BEGIN\n"))[0] == {"rows": 2}, "the next may have begun"
    assert rows_of_changes(io.BytesIO(b"")) == ({"rows": 0}, 0)


def test_decoded_changes_are_read_from_a_slot_for_each_run_up_to_their_end() -> None:
    tool = demand.TOOLS["pg-recvlogical"]
    terms = StreamTerms(names=("one", "two"), holds={"rows": 10}, until="0/1DA8948")
    whole = job("pg-recvlogical", stream=terms)
    for number, slot in enumerate(terms.names):
        arguments = tool.arguments(tool.job_of_run(whole, number), "")
        assert {f"--slot={slot}", "--endpos=0/1DA8948", "--dbname=shop", "--start"} <= set(arguments)
    with pytest.raises(Refusal, match="fewer of them"):
        tool.job_of_run(whole, 2)


def test_all_runs_of_other_programs_copy_the_same() -> None:
    whole = job("pg-dump")
    assert demand.TOOLS["pg-dump"].job_of_run(whole, 7) is whole


def test_a_dump_that_breaks_off_is_no_whole_one() -> None:
    with pytest.raises(Incomplete, match="breaks off"):
        rows_of_copy(io.BytesIO(OF_PG_DUMP.partition(b"2\tb")[0]))
    with pytest.raises(Incomplete, match="complete"):
        rows_of_inserts(io.BytesIO(OF_MYSQLDUMP))


def backup(files: dict[str, int], listed: dict[str, int] | None) -> io.BytesIO:
    """An archive with files of these lengths, and its own list of them."""
    stream = io.BytesIO()
    contents = {path: b"x" * size for path, size in files.items()}
    if listed is not None:
        each = [{"Path": path, "Size": size} for path, size in listed.items()]
        contents["backup_manifest"] = json.dumps({"Files": each}).encode()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for path, content in contents.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    stream.seek(0)
    return stream


def test_files_of_a_base_backup_are_held_against_its_own_list() -> None:
    files = {"base/5/16384": 8192, "PG_VERSION": 3}
    stream = backup(files, files)
    found, length = files_of_backup(stream)
    assert found == files
    assert length == len(stream.getvalue())


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ({"base/5/16384": 8192, "base/5/16385": 10}, "base/5/16385 is missing"),
        ({"base/5/16384": 16384}, "another length"),
        (None, "no list"),
        ({}, "no list"),
    ],
)
def test_a_base_backup_without_a_file_is_no_whole_one(listed: dict[str, int] | None, words: str) -> None:
    with pytest.raises(Incomplete, match=words):
        files_of_backup(backup({"base/5/16384": 8192}, listed))


def test_a_base_backup_that_breaks_off_is_no_whole_one() -> None:
    whole = backup({"base/5/16384": 8192}, {"base/5/16384": 8192}).getvalue()
    with pytest.raises(Incomplete):
        files_of_backup(io.BytesIO(whole[:6000]))


def unpacked(folder: Path, files: dict[str, int], listed: dict[str, int]) -> None:
    """The same as a folder."""
    for path, size in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(b"x" * size)
    each = [{"Path": path, "Size": size} for path, size in listed.items()]
    (folder / "backup_manifest").write_text(json.dumps({"Files": each}), encoding="utf-8")


def test_an_unpacked_backup_has_the_length_of_its_archive(tmp_path: Path) -> None:
    files = {"base/5/16384": 8192, "base/5/16385": 0, "PG_VERSION": 3}
    unpacked(tmp_path, files, files)
    # Five heads (two of folders), 16 blocks and one of contents, two at the end.
    assert files_of_unpacked_backup(tmp_path) == (files, (5 + 16 + 1 + 2) * 512)


def test_an_unpacked_backup_without_a_file_or_its_list_is_no_whole_one(tmp_path: Path) -> None:
    unpacked(tmp_path, {"PG_VERSION": 3}, {"PG_VERSION": 3, "base/5/16384": 8192})
    with pytest.raises(Incomplete, match="base/5/16384 is missing"):
        files_of_unpacked_backup(tmp_path)
    (tmp_path / "backup_manifest").write_text("{}", encoding="utf-8")
    with pytest.raises(Incomplete, match="cannot be read"):
        files_of_unpacked_backup(tmp_path)
    (tmp_path / "backup_manifest").unlink()
    with pytest.raises(Incomplete, match="cannot be read"):
        files_of_unpacked_backup(tmp_path)


@pytest.mark.parametrize(
    ("name", "compression", "option"),
    [
        ("mysqldump", "off", "--compression-algorithms=uncompressed"),
        ("mysqldump", "zlib", "--compression-algorithms=zlib"),
        ("mysqlbinlog", "zstd", "--compression-algorithms=zstd"),
        ("mariadb-dump", "zlib", "--compress"),
        ("pg-basebackup", "zlib", "--compress=server-gzip"),
        ("pg-basebackup", "zstd", "--compress=server-zstd"),
    ],
)
def test_compression_is_asked_for_in_the_words_of_each_program(
    name: str, compression: str, option: str
) -> None:
    assert option in told(name, compression=compression)


@pytest.mark.parametrize("name", ["mariadb-dump", "pg-basebackup"])
def test_uncompressed_nothing_is_said_of_it(name: str) -> None:
    assert not any("compress" in word for word in told(name))


def test_a_compressed_backup_is_looked_through_as_it_unpacks_itself() -> None:
    wanted = job("pg-basebackup", compression="zlib")
    assert "--no-manifest" in told("pg-basebackup", compression="zlib"), "it goes to standard output"
    assert "--no-manifest" not in told("pg-basebackup")
    unpack = demand.TOOLS["pg-basebackup"].unpacked
    assert unpack is not None
    assert {f"--pgdata={FOLDER}", "--format=plain", "--compress=server-gzip"} <= set(unpack(wanted, FOLDER))
    assert "--no-manifest" not in unpack(wanted, FOLDER)


def test_bytes_of_a_log_are_those_of_its_files(tmp_path: Path) -> None:
    for name, size in (("a", 5), ("b", 7), ("c", 100)):
        (tmp_path / name).write_bytes(b"x" * size)
    assert bytes_of_files(tmp_path, ["a", "b"]) == ({"bytes": 12}, 12)
    with pytest.raises(Incomplete, match="d did not come"):
        bytes_of_files(tmp_path, ["a", "d"])


DENIED = "mysqldump: Got error: 1045: Access denied for user 'load' when trying to connect\n"


@pytest.mark.parametrize(
    ("log", "kind", "fault"),
    [
        (
            'pg_dump: error: connection to server at "127.0.0.1", port 5 failed: FATAL:  password '
            'authentication failed for user "load"\n',
            "access_denied",
            "server",
        ),
        (DENIED, "access_denied", "server"),
        ("ERROR: Failed on connect: SSL connection error: unsupported\n", "tls_handshake", "server"),
        ("mysqldump: Error: 'SELECT command denied' when trying to dump\n", "server_error", "server"),
    ],
)
def test_a_complaint_is_told_in_the_contracts_words(log: str, kind: str, fault: str) -> None:
    event = failure_in(log)
    assert event is not None
    assert (event.kind, event.fault, event.fatal) == (kind, fault, True)
    assert "\n" not in event.message


@pytest.mark.parametrize(
    "log",
    [
        "",
        "NOTICE:  WAL archiving is not enabled; you must ensure that all required segments are copied\n",
        "Warning: A partial dump from a server that has GTIDs\n",
    ],
)
def test_notices_and_warnings_are_no_failures(log: str) -> None:
    assert failure_in(log) is None


@pytest.mark.parametrize(
    ("name", "connections"),
    [("mysqlbinlog", 2), ("mariadb-binlog", 2), ("mysqldump", 1), ("pg-receivewal", 1)],
)
def test_a_log_of_mysql_is_read_by_a_connection_for_each_of_its_files(name: str, connections: int) -> None:
    wanted = job(name, names=("binlog.000001", "binlog.000002"))
    assert demand.TOOLS[name].connections(wanted) == connections
