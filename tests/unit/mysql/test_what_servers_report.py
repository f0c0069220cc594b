"""Answers of servers, read: what they mean, and what is made of those that are missing or of another kind."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pymysql.err import OperationalError

from fake_database import FakeDatabase
from tlstax.contract import RowSample
from tlstax.mysql import answers, ownership_table, server_facts, server_tls, status, table
from tlstax.mysql.answers import Malformed
from tlstax.mysql.database import Database, error_number, is_connection_error
from tlstax.mysql.ownership_table import Entry
from tlstax.mysql.status import read_settled_status, read_status
from tlstax.support.errors import MachineFault

LOST = OperationalError(2013, "Lost connection to MySQL server during query")
REFUSED = OperationalError(1227, "Access denied; you need the SUPER privilege")


def database(fake: FakeDatabase) -> Database:
    return cast("Database", fake)


@pytest.mark.parametrize(
    ("report", "is_purging"),
    [
        ("TRANSACTIONS\nPurge done for trx's n:o < 12 undo n:o < 0 state: running\nHistory 3", True),
        (
            "TRANSACTIONS\nPurge done for trx's n:o < 12 undo n:o < 0 state: running but idle\nHistory 3",
            False,
        ),
        ("TRANSACTIONS\nHistory list length 300000", False),
    ],
)
def test_a_purge_is_seen_in_the_report_of_innodb(report: str, is_purging: bool) -> None:
    assert table.is_purging(database(FakeDatabase(("InnoDB", "", report)))) is is_purging


def test_an_account_that_may_not_ask_innodb_does_not_wait_for_it() -> None:
    assert not table.is_purging(database(FakeDatabase(error=REFUSED)))
    refusing = FakeDatabase(error=REFUSED)
    table.write_changed_pages(database(refusing), "t")
    assert refusing.statements == ["FLUSH TABLES `t` FOR EXPORT"]


def test_a_server_that_is_to_take_no_tls_is_told_not_to_roll_that_back() -> None:
    server = FakeDatabase()
    server_tls.accept(database(server), server_tls.NO_TLS)
    server_tls.accept(database(server), "TLSv1.3")
    assert server.statements == [
        "SET GLOBAL tls_version = ",
        "ALTER INSTANCE RELOAD TLS NO ROLLBACK ON ERROR",
        "SET GLOBAL tls_version = TLSv1.3",
        "ALTER INSTANCE RELOAD TLS",
    ]


def test_a_setting_that_a_server_refuses_is_named_in_the_sentence() -> None:
    with pytest.raises(MachineFault, match=r"did not carry out SET GLOBAL innodb_flush.* \(Access denied"):
        server_facts.set_flush_at_commit(database(FakeDatabase(error=REFUSED)), 1)


@pytest.mark.parametrize(
    ("version", "statement"),
    [("9.7.0", "ALTER INSTANCE RELOAD TLS"), ("11.8.3-MariaDB-log", "FLUSH SSL")],
)
def test_each_product_has_its_way_to_read_a_certificate_again(version: str, statement: str) -> None:
    assert server_tls.certificate_reload(version) == statement


def test_rows_that_differ_from_the_servers_are_named_by_their_statement() -> None:
    server = database(FakeDatabase((7, None), ("x", 1.5)))
    right = RowSample(sql="SELECT a, b FROM t", rows=(("7", None), ("x", "1.5")))
    wrong = RowSample(sql="SELECT c FROM t", rows=(("7", "None"), ("x", "1.5")))
    short = RowSample(sql="SELECT d FROM t", rows=(("7", None),))
    assert answers.mismatches(server, [right, wrong, short]) == ("SELECT c FROM t", "SELECT d FROM t")


def test_bytes_that_a_server_answers_are_those_of_a_text() -> None:
    server = database(FakeDatabase((b"0123",)))
    right = RowSample(sql="SELECT a FROM t", rows=(("0123",),))
    wrong = RowSample(sql="SELECT b FROM t", rows=(("b'0123'",),))
    assert answers.mismatches(server, [right, wrong]) == ("SELECT b FROM t",)


def test_rows_that_agree_cost_one_round_trip() -> None:
    server = FakeDatabase((0, "a", None), (1, b"b", 7))
    samples = [
        RowSample(sql="SELECT c, d FROM t WHERE id=0", rows=(("a", None),)),
        RowSample(sql="SELECT c, d FROM t WHERE id=1", rows=(("b", "7"),)),
    ]
    assert answers.mismatches(database(server), samples) == ()
    assert server.statements == [
        "SELECT 0, one.* FROM (SELECT c, d FROM t WHERE id=0) AS one UNION ALL "
        "SELECT 1, one.* FROM (SELECT c, d FROM t WHERE id=1) AS one"
    ]
    other = samples[0].model_copy(update={"rows": (("c", None),)})
    answers.mismatches(database(server), [other, samples[1]])
    assert len(server.statements) == 1 + 1 + 2, "what differs is asked by itself"


def test_a_lost_connection_is_told_from_a_refused_statement() -> None:
    assert is_connection_error(LOST)
    assert not is_connection_error(REFUSED)
    assert (error_number(REFUSED), error_number(OperationalError("?"))) == (1227, 0)


def test_counters_that_a_server_does_not_report_count_nothing() -> None:
    assert (status.connected({"Threads_connected": 3}), status.connected({})) == (3, 0)
    assert status.sessions_resumed({"Ssl_session_cache_hits": 2}, {"Ssl_session_cache_hits": 5}) == 3
    assert status.sessions_resumed({}, {}) == 0


def test_the_record_is_read_as_it_was_written() -> None:
    server = FakeDatabase(("made", "TABLE", "mine", "a sign", "a proof"), ("run", "", "", None, "another"))
    assert ownership_table.entries(database(server)) == [
        Entry("made", "TABLE", "mine", "a sign", "a proof"),
        Entry("run", "", "", "", "another"),
    ]
    ownership_table.add(database(server), "r", "n", Entry("made", "VIEW", "seen", "", "p"))
    assert server.statements[-1] == (
        "INSERT INTO tlstax_made (run, step, kind, name, sign, proof, node, until_utc) VALUES "
        "(r, made, VIEW, seen, , p, n, UTC_TIMESTAMP() + INTERVAL 900 SECOND)"
    )


def test_a_table_of_the_records_name_that_is_not_like_it_says_nothing() -> None:
    other = database(FakeDatabase(error=OperationalError(1054, "Unknown column 'node' in 'where clause'")))
    assert (ownership_table.busy_elsewhere_s(other, "n"), ownership_table.claimed_things(other)) == (0, [])
    with pytest.raises(OperationalError):
        ownership_table.busy_elsewhere_s(database(FakeDatabase(error=LOST)), "n")


class ReportingDatabase(FakeDatabase):
    """It has other rows for its status than for its variables."""

    def __init__(self, variables: dict[str, str], cluster: str) -> None:
        super().__init__(*variables.items())
        self._status = [("wsrep_cluster_state_uuid", cluster)] if cluster else []

    def fetchall(self) -> tuple[tuple[str, str], ...]:
        return tuple(self._status) if "wsrep" in self.statements[-1] else tuple(self.rows)


def test_the_nodes_of_a_cluster_are_several_and_their_data_are_the_same() -> None:
    def identity(cluster: str = "", **variables: str) -> server_facts.Identity:
        return server_facts.identity(database(ReportingDatabase(variables, cluster)))

    mysql, mariadb = {"server_uuid": "1"}, {"server_uid": "u", "hostname": "h", "datadir": "/d"}
    for one in (identity(**mysql), identity(**mariadb), identity("0" * 8 + "-0000-0000-0000-" + "0" * 12)):
        assert one.data == one.node
    assert identity(**mariadb) != identity(**{**mariadb, "datadir": "/other"})
    groups = [identity(server_uuid=uuid, group_replication_group_name="g") for uuid in "12"]
    galera = [identity("w", server_uid=uid) for uid in "12"]
    for first, second in (groups, galera):
        assert first.data == second.data
        assert first.node != second.node


def test_the_way_to_a_server_is_that_of_its_fastest_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on by 3 ms, then 2, then 1, and by 5 ms from then on."""
    asked = FakeDatabase((1,))
    steps = iter((0.0, 0.003, 0.003, 0.005, 0.005, 0.006, *(at / 200 for at in range(2, 16))))
    monkeypatch.setattr(server_facts.time, "perf_counter", lambda: next(steps))
    assert server_facts.round_trip_s(database(asked)) == pytest.approx(0.001)
    assert asked.statements == ["SELECT 1"] * 10


@pytest.mark.parametrize(
    ("rows", "agreed"),
    [
        ([("protocol_compression_algorithms", "zlib,zstd,uncompressed")], ("off", "zlib", "zstd")),
        ([("protocol_compression_algorithms", "uncompressed")], ("off",)),
        (
            [("have_compress", "YES"), ("protocol_compression_algorithms", "zstd,uncompressed")],
            ("off", "zstd"),
        ),
        ([("have_compress", "YES")], ("off", "zlib")),
        ([("have_compress", "NO")], ("off",)),
        ([], ("off",)),
    ],
)
def test_a_server_says_how_it_compresses(rows: list[tuple[str, str]], agreed: tuple[str, ...]) -> None:
    assert server_facts.compressions(database(FakeDatabase(*rows))) == agreed


@pytest.mark.parametrize("value", ["²", "१", "--1", "1e3", "", "9" * 5000, "1.5", None])
def test_a_counter_that_is_no_number_is_left_out(value: str | None) -> None:
    found = read_status(database(FakeDatabase(("Odd", value), ("Uptime", "12"), ("Down", "-3"))))
    assert found == {"Uptime": 12, "Down": -3}


def test_counters_of_another_shape_are_the_servers_fault() -> None:
    with pytest.raises(MachineFault, match=r"counters could not be read \(an answer has 1 column where 2"):
        read_status(database(FakeDatabase(("Uptime",))))


def test_an_answer_has_the_shape_that_was_asked_for() -> None:
    assert answers.row(database(FakeDatabase(("1", "2"))), "SELECT 1, 2", columns=2) == ("1", "2")
    assert answers.column(database(FakeDatabase(("1", "2"), ("3", "4"))), "SHOW INDEX", place=1) == ["2", "4"]
    with pytest.raises(Malformed, match="no row"):
        answers.row(database(FakeDatabase()), "SELECT 1", columns=1)
    with pytest.raises(Malformed, match="column 3"):
        answers.column(database(FakeDatabase(("1", "2"))), "SHOW INDEX", place=2)
    with pytest.raises(Malformed, match="where a number was expected"):
        answers.number("twelve")


def test_what_a_server_says_fits_a_sentence() -> None:
    assert answers.message_of(OperationalError(1105, "one\ntwo\r\n  three")) == "one two three"
    assert len(answers.message_of(OperationalError(1105, "x" * 10_000))) < 400
    assert answers.message_of(OperationalError()) == "OperationalError"


EVERYTHING = "SHOW GLOBAL STATUS"


class Closing(FakeDatabase):
    """A server with one session fewer each time somebody asks how many there are, down to one."""

    def __init__(self, sessions: int) -> None:
        super().__init__()
        self._sessions = sessions

    def fetchall(self) -> tuple[tuple[Any, ...], ...]:
        if self.statements[-1] == EVERYTHING:
            return ("Threads_connected", str(self._sessions)), ("Com_select", "7")
        self._sessions = max(1, self._sessions - 1)
        return (("Threads_connected", str(self._sessions + 1)),)


def test_everything_is_read_once_and_last() -> None:
    server = Closing(4)
    found = read_settled_status(database(server), 2)
    assert found == {"Threads_connected": 1, "Com_select": 7}
    assert server.statements == [*[f"{EVERYTHING} LIKE 'Threads_connected'"] * 3, EVERYTHING]


def test_sessions_that_stay_are_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "_SETTLING_S", 0.01)
    assert read_settled_status(database(Closing(1)), 0)["Com_select"] == 7
