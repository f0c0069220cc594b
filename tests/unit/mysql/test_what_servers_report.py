"""Answers of servers, read: what they mean, and what is made of those that are missing or of another kind."""

from __future__ import annotations

from typing import Any

import pytest
from pymysql.err import InterfaceError, MySQLError, OperationalError

from fake_database import FakeDatabase
from tlstax.mysql import server_facts, server_tls, status
from tlstax.mysql.database import raising_sql_errors
from tlstax.mysql.ownership_table import OwnershipTable
from tlstax.mysql.status import read_settled_status, read_status
from tlstax.mysql.table import MYSQL_TABLES
from tlstax.sql import answers
from tlstax.sql.database import SqlError
from tlstax.sql.facts import Identity
from tlstax.sql.ownership import Entry
from tlstax.support.errors import MachineFault

LOST = SqlError(2013, "Lost connection to MySQL server during query", is_of_connection=True)
REFUSED = SqlError(1227, "Access denied; you need the SUPER privilege")


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
    assert MYSQL_TABLES.is_purging(FakeDatabase(("InnoDB", "", report))) is is_purging


def test_an_account_that_may_not_ask_innodb_does_not_wait_for_it() -> None:
    assert not MYSQL_TABLES.is_purging(FakeDatabase(error=REFUSED))
    refusing = FakeDatabase(error=REFUSED)
    MYSQL_TABLES.write_changed_pages(refusing, "t")
    assert refusing.statements == ["FLUSH TABLES `t` FOR EXPORT"]


def test_a_server_that_is_to_take_no_tls_is_told_not_to_roll_that_back() -> None:
    server = FakeDatabase()
    server_tls.accept(server, server_tls.NO_TLS)
    server_tls.accept(server, "TLSv1.3")
    assert server.statements == [
        "SET GLOBAL tls_version = ",
        "ALTER INSTANCE RELOAD TLS NO ROLLBACK ON ERROR",
        "SET GLOBAL tls_version = TLSv1.3",
        "ALTER INSTANCE RELOAD TLS",
    ]


def test_a_setting_that_a_server_refuses_is_named_in_the_sentence() -> None:
    with pytest.raises(MachineFault, match=r"did not carry out SET GLOBAL innodb_flush.* \(Access denied"):
        server_facts.set_durability(FakeDatabase(error=REFUSED), "full")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1, "full"),
        (2, "write"),
        (0, "none"),
        (3, "innodb_flush_log_at_trx_commit=3"),
    ],
)
def test_what_a_commit_waits_for_is_put_back_as_it_was_told(value: int, said: str) -> None:
    server = FakeDatabase((value,))
    assert server_facts.durability(server) == said
    server_facts.set_durability(server, said)
    assert server.statements[-1] == f"SET GLOBAL innodb_flush_log_at_trx_commit = {value}"


@pytest.mark.parametrize(
    ("version", "statement"),
    [("9.7.0", "ALTER INSTANCE RELOAD TLS"), ("11.8.3-MariaDB-log", "FLUSH SSL")],
)
def test_each_product_has_its_way_to_read_a_certificate_again(version: str, statement: str) -> None:
    assert server_tls.certificate_reload(version) == statement


def test_a_lost_connection_is_told_from_a_refused_statement() -> None:
    own: MySQLError
    for own, is_of_connection, number in (
        (OperationalError(2013, "Lost connection"), True, 2013),
        (OperationalError(1227, "Access denied"), False, 1227),
        (InterfaceError(0, ""), False, 0),
    ):
        with pytest.raises(SqlError) as raised, raising_sql_errors():
            raise own
        error = raised.value
        assert (error.is_of_connection, error.code) == (is_of_connection, number)
    assert (error.message, error.__cause__) == ("InterfaceError", own)


def test_counters_that_a_server_does_not_report_count_nothing() -> None:
    assert (status.connected({"Threads_connected": 3}), status.connected({})) == (3, 0)
    assert status.sessions_resumed({"Ssl_session_cache_hits": 2}, {"Ssl_session_cache_hits": 5}) == 3
    assert status.sessions_resumed({}, {}) == 0


def test_the_record_is_read_as_it_was_written() -> None:
    server = FakeDatabase(("made", "TABLE", "mine", "a sign", "a proof"), ("run", "", "", None, "another"))
    assert OwnershipTable("lent").entries(server) == [
        Entry("made", "TABLE", "mine", "a sign", "a proof"),
        Entry("run", "", "", "", "another"),
    ]
    OwnershipTable("50%").add(server, "r", "n", Entry("made", "VIEW", "seen", "", "p"))
    assert server.statements[-1] == (
        "INSERT INTO `50%`.tlstax_made (run, step, kind, name, sign, proof, node, until_utc) VALUES "
        "(r, made, VIEW, seen, , p, n, UTC_TIMESTAMP() + INTERVAL 900 SECOND)"
    )


def test_a_table_of_the_records_name_that_is_not_like_it_says_nothing() -> None:
    other = FakeDatabase(error=SqlError(1054, "Unknown column 'node' in 'where clause'"))
    assert (
        OwnershipTable("s").busy_elsewhere_s(other, "n"),
        OwnershipTable("s").claimed_things(other),
    ) == (0, [])
    with pytest.raises(SqlError):
        OwnershipTable("s").busy_elsewhere_s(FakeDatabase(error=LOST), "n")


class ReportingDatabase(FakeDatabase):
    """It has other rows for its status than for its variables."""

    def __init__(self, variables: dict[str, str], cluster: str) -> None:
        super().__init__(*variables.items())
        self._status = [("wsrep_cluster_state_uuid", cluster)] if cluster else []

    def rows(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        variables = super().rows(statement, values)
        return list(self._status) if "wsrep" in statement else variables


def test_the_nodes_of_a_cluster_are_several_and_their_data_are_the_same() -> None:
    def identity(cluster: str = "", **variables: str) -> Identity:
        return server_facts.identity(ReportingDatabase(variables, cluster))

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
    monkeypatch.setattr(answers.time, "perf_counter", lambda: next(steps))
    assert answers.round_trip_s(asked) == pytest.approx(0.001)
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
    assert server_facts.compressions(FakeDatabase(*rows)) == agreed


@pytest.mark.parametrize("value", ["²", "१", "--1", "1e3", "", "9" * 5000, "1.5", None])
def test_a_counter_that_is_no_number_is_left_out(value: str | None) -> None:
    found = read_status(FakeDatabase(("Odd", value), ("Uptime", "12"), ("Down", "-3")))
    assert found == {"Uptime": 12, "Down": -3}


def test_counters_of_another_shape_are_the_servers_fault() -> None:
    with pytest.raises(MachineFault, match=r"counters could not be read \(an answer has 1 column where 2"):
        read_status(FakeDatabase(("Uptime",)))


EVERYTHING = "SHOW GLOBAL STATUS"


class Closing(FakeDatabase):
    """A server with one session fewer each time somebody asks how many there are, down to one."""

    def __init__(self, sessions: int) -> None:
        super().__init__()
        self._sessions = sessions

    def rows(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        super().rows(statement, values)
        if statement == EVERYTHING:
            return [("Threads_connected", str(self._sessions)), ("Com_select", "7")]
        self._sessions = max(1, self._sessions - 1)
        return [("Threads_connected", str(self._sessions + 1))]


def test_everything_is_read_once_and_last() -> None:
    server = Closing(4)
    found = read_settled_status(server, 2)
    assert found == {"Threads_connected": 1, "Com_select": 7}
    assert server.statements == [*[f"{EVERYTHING} LIKE 'Threads_connected'"] * 3, EVERYTHING]


def test_sessions_that_stay_are_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "_SETTLING_S", 0.01)
    assert read_settled_status(Closing(1), 0)["Com_select"] == 7
