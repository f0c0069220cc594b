"""Round trips and bytes of each phase, on real servers: what the protocols say, whatever the timing."""

from __future__ import annotations

import pytest
from load_jobs import ROWS, WITHIN_S, client, job, measured

from tlstax.contract import Done, Statement, TlsOff, TlsOn, UnixEndpoint, Workload
from tlstax.specimens.private_server import PrivateServer
from tlstax.sql.table_rows import TableContent
from tlstax.study import workloads

CONNECTING = ("tcp_connect", "greeting", "tls_handshake", "authentication")
STORM = Workload(storm=True)
TWO_QUERIES = Workload(reconnect=True, statements=(Statement(sql="SELECT 1", repeat=2),))


def tls(server: PrivateServer, **changes: object) -> TlsOn:
    asked = TlsOn(min_version="1.3", max_version="1.3", verify="identity", ca_file=server.ca_file)
    return asked.model_copy(update=changes)


def round_trips(done: Done) -> dict[str, float]:
    """Round trips of one connection, by phase."""
    return {phase: wire.round_trips / wire.times for phase, wire in done.phase_wire.items()}


def check_sums(done: Done) -> None:
    """Every byte belongs to one phase, and connecting is the sum of its phases."""
    parts = [done.phase_wire[phase] for phase in CONNECTING if phase in done.phase_wire]
    whole = done.phase_wire["connect"]
    assert {part.times for part in parts} == {whole.times} == {done.operations}
    for field in ("round_trips", "bytes_sent", "bytes_received"):
        assert getattr(whole, field) == sum(getattr(part, field) for part in parts)
    assert done.wire is not None
    once = [wire for phase, wire in done.phase_wire.items() if phase != "connect"]
    assert sum(wire.bytes_sent for wire in once) == done.wire.bytes_sent
    assert sum(wire.bytes_received for wire in once) == done.wire.bytes_received


def test_a_plaintext_connection_waits_three_times_and_each_query_once(private: PrivateServer) -> None:
    _, done = measured(job(private, workload=TWO_QUERIES))
    assert done.errors == ()
    assert round_trips(done) == {
        "tcp_connect": 1,
        "greeting": 1,
        "authentication": 1,
        "connect": 3,
        "first_query": 1,
        "query": 1,
        "close": 0,
    }
    check_sums(done)
    # The packet of COM_QUIT has one byte after its header of four.
    assert done.phase_wire["close"].bytes_sent == 5 * done.operations


@pytest.mark.parametrize(
    ("changes", "handshake"),
    [
        ({"groups": "P-256"}, 1),
        ({"groups": "P-256", "resumption": True}, 1),
        ({"min_version": "1.2", "max_version": "1.2"}, 2),
        ({"min_version": "1.2", "max_version": "1.2", "resumption": True}, 1),
    ],
    ids=["1.3", "1.3 resumed", "1.2", "1.2 resumed"],
)
def test_a_handshake_adds_its_own_round_trips(
    private: PrivateServer, changes: dict[str, object], handshake: int
) -> None:
    _, done = measured(job(private, workload=TWO_QUERIES, tls=tls(private, **changes)))
    assert done.errors == ()
    told = round_trips(done)
    assert (told["tls_handshake"], told["connect"]) == (handshake, 3 + handshake)
    assert (told["first_query"], told["query"], told["close"]) == (1, 1, 0)
    check_sums(done)


def test_a_hello_retry_costs_one_more(mysql: PrivateServer) -> None:
    """MySQL 9.7 takes no X25519 before the groups of NIST."""
    _, done = measured(job(mysql, workload=TWO_QUERIES, tls=tls(mysql, groups="X25519:P-256")))
    (handshakes,) = done.window.handshakes
    assert handshakes.hello_retry
    assert round_trips(done)["tls_handshake"] == 2
    check_sums(done)


@pytest.mark.parametrize(("encrypted", "way", "full"), [(True, "full_tls", 2), (False, "full_rsa", 3)])
def test_a_password_that_is_not_in_the_cache_costs_more_turns(
    mysql: PrivateServer, encrypted: bool, way: str, full: int
) -> None:
    asked = job(mysql, workload=STORM, tls=tls(mysql) if encrypted else TlsOff(), rounds=3, duration_s=60.0)
    with client(asked) as storm, mysql.admin() as database:
        storm.wait_ready(WITHIN_S)
        database.rows("FLUSH PRIVILEGES")
        storm.go()
        done = storm.wait_done(WITHIN_S)
    ways = done.window.authentications
    assert 1 <= ways[way] <= 4, "those that came before the first was done"
    assert sum(ways.values()) == 12
    assert done.phase_wire["authentication"].round_trips == full * ways[way] + ways["fast"]


def test_queries_on_kept_connections_are_counted_one_by_one(private: PrivateServer) -> None:
    private.prepare_table(TableContent(rows=ROWS, seed=1))
    for protocol in ("text", "prepared"):
        workload = workloads.built_in("select-range", private.table_name, ROWS)
        asked = workload.model_copy(update={"protocol": protocol})
        _, done = measured(job(private, workload=asked, tls=tls(private)))
        (phase,) = done.phase_wire
        wire = done.phase_wire[phase]
        assert (phase, wire.times, wire.round_trips) == ("query", done.operations, done.operations)
        assert done.wire is not None
        assert (wire.bytes_sent, wire.bytes_received) == (done.wire.bytes_sent, done.wire.bytes_received)


def test_a_refused_statement_is_in_no_phase(private: PrivateServer) -> None:
    refused = Workload(
        reconnect=True, statements=(Statement(sql="SELECT 1"), Statement(sql="SELECT nothing"))
    )
    _, done = measured(job(private, workload=refused, operations=50, warmup_s=0.0))
    assert done.operations == 0
    assert sum(error.count for error in done.errors) == 50
    assert done.phase_wire["first_query"].times == 50
    assert "query" not in done.phase_wire


def test_no_packet_goes_ahead_of_the_greeting_on_a_unix_socket(private: PrivateServer) -> None:
    _, done = measured(job(private, workload=TWO_QUERIES, endpoint=private.unix_endpoint()))
    told = round_trips(done)
    assert (told["tcp_connect"], told["greeting"], told["connect"]) == (0, 1, 2)


@pytest.mark.parametrize("way", ["plaintext", "unix", "1.3", "1.3 resumed", "1.2 resumed"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_storm_opens_what_the_server_counts(private: PrivateServer, way: str, threads: int) -> None:
    version = way.split(maxsplit=1)[0]
    encrypted = version in {"1.2", "1.3"}
    asked = (
        tls(private, min_version=version, max_version=version, resumption="resumed" in way)
        if encrypted
        else TlsOff()
    )
    endpoint = private.unix_endpoint() if way == "unix" else private.endpoint()
    storm = job(
        private,
        workload=STORM,
        tls=asked,
        endpoint=endpoint,
        connections=50,
        threads=threads,
        rounds=4,
        operations=200,
        duration_s=60.0,
    )
    before = counted(private)
    _, done = measured(storm)
    after = counted(private)
    assert done.errors == ()
    assert done.operations == done.scheduled == done.window.connections == 200
    assert len(done.rounds_s) == 4
    assert sum(done.rounds_s) < done.elapsed_s
    assert sum(done.window.authentications.values()) == 200
    # The laboratory's own question is a connection too.
    assert after["Connections"] - before["Connections"] == done.lifetime.connections + 1
    if encrypted:
        assert sum(handshakes.count for handshakes in done.window.handshakes) == 200
        assert all(handshakes.resumed == ("resumed" in way) for handshakes in done.window.handshakes)
    assert done.phase_wire["connect"].times == done.phase_wire["close"].times == 200
    assert isinstance(endpoint, UnixEndpoint) == (round_trips(done)["tcp_connect"] == 0)
    check_sums(done)


def counted(server: PrivateServer) -> dict[str, int]:
    """The server's own counts of what came to it."""
    with server.admin() as database:
        return {
            str(name): int(value) for name, value in database.rows("SHOW GLOBAL STATUS LIKE 'Connections'")
        }


def test_a_storm_that_the_server_has_no_room_for_goes_on_without_those(mysql: PrivateServer) -> None:
    user = mysql.load_account.user
    asked = job(mysql, workload=STORM, connections=40, threads=2, rounds=3, duration_s=60.0)
    with client(asked) as storm, mysql.admin() as database:
        storm.wait_ready(WITHIN_S)
        database.rows(f"ALTER USER '{user}'@'%' WITH MAX_USER_CONNECTIONS 30")
        try:
            storm.go()
            done = storm.wait_done(WITHIN_S)
        finally:
            database.rows(f"ALTER USER '{user}'@'%' WITH MAX_USER_CONNECTIONS 0")
    (refused,) = done.errors
    # The server hangs up a little before it stops counting a connection.
    assert refused.code == 1226
    assert refused.count >= 30
    assert done.operations + refused.count == done.scheduled == 120
    assert len(done.rounds_s) == 3
