"""What a server counts of all who take turns is what all claim; machines that share a load began together."""

from __future__ import annotations

import pytest
from test_checks import FULL, PLAIN, RESUMED, record_of, with_server

from check_by_check import doubts
from tlstax.checks import judge
from tlstax.checks.network import distance
from tlstax.checks.together import began_together, claims, together
from tlstax.contract import Counts, Handshakes, TcpEndpoint
from tlstax.records.trial import ServerClaim, TrialRecord
from tlstax.records.window import Load, LoadPart, Together
from tlstax.study.factors import CaseLevels

NOTHING = Counts(connections=0, handshakes=(), authentications={})


def opened(connections: int, *, resumed: int = 0, full: int = 0, again: bool = False) -> Counts:
    """N connections, and their handshakes; with `again` the server asked for a second ClientHello."""
    kind = {"version": "TLSv1.3", "cipher": "TLS_AES_128_GCM_SHA256", "group": "x25519", "hello_retry": again}
    shaken = [(resumed, True), (full, False)]
    return Counts(
        connections=connections,
        handshakes=tuple(
            Handshakes.model_validate({**kind, "resumed": how, "count": count})
            for count, how in shaken
            if count
        ),
        authentications={"fast": connections},
    )


def case(**levels: str) -> CaseLevels:
    return CaseLevels.of({"tls": "1.3", "workload": "reconnect", **levels})


def in_turns(record: TrialRecord, own: Counts = NOTHING, **seen: object) -> TrialRecord:
    """The same trial, whose client took turns with two others."""
    alike = {"clients": 3, "status_delta": {}, "claims": claims([]), "own": own}
    return record.model_copy(update={"together": Together.model_validate({**alike, **seen})})


def test_claims_are_the_sums_of_what_all_clients_say() -> None:
    made = [(case(tls="off"), opened(10)), (case(), opened(5, full=5)), (case(), opened(4, resumed=4))]
    assert claims(made) == {
        "connections": (19, 19),
        "handshakes": (9, 9),
        "session_lookups": (4, 4),
    }
    second = [(case(), opened(4, resumed=4, again=True))]
    assert claims(second)["session_lookups"] == (8, 8), "once for each ClientHello"


@pytest.mark.parametrize(
    ("tls", "handshakes", "hits"),
    [("off", (0, 0), (0, 0)), ("1.3", (10, None), (0, None)), ("required", (10, None), (0, None))],
)
def test_of_a_driver_only_the_least_is_known(
    tls: str, handshakes: tuple[int, int | None], hits: tuple[int, int | None]
) -> None:
    driver = case(tls=tls, client="pymysql-1.1")
    assert claims([(driver, opened(10))]) == {
        "connections": (10, None),
        "handshakes": handshakes,
        "session_lookups": hits,
    }
    left_to_it = claims([(case(tls="unset", client="pymysql-1.1"), opened(10))])
    assert left_to_it["handshakes"] == (0, None)
    both = claims([(driver, opened(10)), (case(tls="off"), opened(7))])
    assert both["connections"] == (17, None)


def test_a_server_that_counts_what_was_claimed_is_believed() -> None:
    claimed = claims([(case(), opened(9, full=5, resumed=4))])
    counted = {"Connections": 9, "Ssl_finished_accepts": 9, "Ssl_session_cache_hits": 4}
    assert doubts(together, in_turns(record_of(FULL), claims=claimed, status_delta=counted)) == []
    assert doubts(together, record_of(FULL)) == [], (
        "of a trial that had the server to itself nothing is asked"
    )


@pytest.mark.parametrize(
    ("counter", "words"),
    [
        ("Connections", "9 connections"),
        ("Ssl_finished_accepts", "9 TLS handshakes"),
        ("Ssl_session_cache_hits", "4 look-ups of resumed sessions"),
    ],
)
@pytest.mark.parametrize("off", [-1, 1])
def test_one_more_or_less_of_anything_is_found(counter: str, words: str, off: int) -> None:
    claimed = claims([(case(), opened(9, full=5, resumed=4))])
    counted = {"Connections": 9, "Ssl_finished_accepts": 9, "Ssl_session_cache_hits": 4}
    number, what = words.split(" ", 1)
    seen = {**counted, counter: int(number) + off}
    assert doubts(together, in_turns(record_of(FULL), claims=claimed, status_delta=seen)) == [
        (
            "invalid",
            f"while 3 clients took turns the server counted {int(number) + off} {what} ({counter}), the "
            f"clients {number}",
        )
    ]


@pytest.mark.parametrize(
    ("counted", "claimed", "is_true"), [(9, 9, True), (10, 9, True), (11, 9, False), (8, 9, False)]
)
@pytest.mark.parametrize(
    ("version", "counter"),
    [("9.7.4", "Innodb_rows_updated"), ("11.8.6-MariaDB-0+deb13u1", "Handler_update")],
)
@pytest.mark.parametrize("named_by", ["the count", "the counter"])
def test_rows_are_counted_of_all_who_wrote(  # noqa: PLR0913, PLR0917 (each is a choice of its own)
    named_by: str, version: str, counter: str, counted: int, claimed: int, is_true: bool
) -> None:
    """One of the clients' operations failed, and may have changed its row before.

    Older records name what is claimed by the server's counter.
    """
    count = "rows_updated" if named_by == "the count" else counter
    seen = {"claims": {count: (claimed, claimed + 1)}, "status_delta": {counter: counted}}
    words = f"counted {counted} rows updated ({counter}), the clients {claimed}"
    found = doubts(together, in_turns(with_server(record_of(FULL), version=version), **seen))
    assert found == ([] if is_true else [("invalid", f"while 3 clients took turns the server {words}")])


def test_where_others_use_the_server_more_is_no_fault_and_less_is() -> None:
    external = record_of(PLAIN).model_copy(update={"guest": True})
    claimed = claims([(case(tls="off"), opened(9))])
    more, fewer = (in_turns(external, claims=claimed, status_delta={"Connections": n}) for n in (10, 8))
    assert doubts(together, more) == [("note", "others used the server during the trial")]
    assert [weight for weight, _ in doubts(together, fewer)] == ["invalid"]


def test_what_a_server_does_not_count_is_not_asked() -> None:
    claimed = claims([(case(), opened(9, full=5, resumed=4))])
    record = in_turns(
        record_of(RESUMED), claims=claimed, status_delta={"Connections": 9, "Ssl_finished_accepts": 9}
    )
    assert record.server is not None
    maria = record.model_copy(
        update={"server": record.server.model_copy(update={"version": "11.8.6-MariaDB-0+deb13u1"})}
    )
    assert doubts(together, maria) == []
    old = {"version": "5.6.14", "tls_library_version": None, "status_delta": {"Connections": 9}}
    without = record.model_copy(
        update={
            "server": record.server.model_copy(update=old),
            "together": Together(clients=3, status_delta={"Connections": 9}, claims=claimed, own=NOTHING),
        }
    )
    assert doubts(together, without) == []


def test_what_a_server_does_count_is_asked_whatever_else_it_does_not() -> None:
    """An old server counts no TLS; rows come after that among the claims. MariaDB counts handshakes."""
    claimed = {**claims([(case(), opened(9, full=5, resumed=4))]), "rows_updated": (6, 6)}
    record = record_of(RESUMED)
    assert record.server is not None

    def found(counted: dict[str, int], **server: object) -> list[str]:
        seen = in_turns(record, claims=claimed, status_delta=counted)
        changed = record.server.model_copy(update=server) if record.server else None
        return [why for _, why in doubts(together, seen.model_copy(update={"server": changed}))]

    old = {"version": "5.6.14", "tls_library_version": None, "status_delta": {"Connections": 9}}
    assert found({"Connections": 9, "Innodb_rows_updated": 6}, **old) == []
    assert len(found({"Connections": 8, "Innodb_rows_updated": 6}, **old)) == 1
    assert len(found({"Connections": 9, "Innodb_rows_updated": 5}, **old)) == 1
    maria = {"version": "11.8.6-MariaDB-0+deb13u1"}
    right = {"Connections": 9, "Ssl_finished_accepts": 9, "Handler_update": 6}
    assert found(right, **maria) == []
    assert found({**right, "Ssl_finished_accepts": 8}, **maria) == [], "it counts without a lock"
    assert len(found({**right, "Ssl_finished_accepts": 7}, **maria)) == 1
    assert len(found({**right, "Ssl_finished_accepts": 10}, **maria)) == 1
    assert len(found({**right, "Connections": 8}, **maria)) == 1


def test_look_ups_of_a_programs_sessions_are_not_the_clients() -> None:
    """A program that begins the TLS which the server sees looks up sessions of its own, or none."""
    begun = case(path="router-encrypt", tls="off", resumption="on")
    assert claims([(begun, opened(9, resumed=9))])["session_lookups"] == (0, None)


def test_what_was_opened_in_turns_is_not_asked_of_the_servers_counters_a_second_time() -> None:
    """The counters of one client end before the turns; what it opened later is claimed with the others'."""
    record = record_of(FULL)
    assert record.done is not None
    lifetime = record.done.lifetime
    (kind, *_) = lifetime.handshakes
    own = Counts(
        connections=5, handshakes=(kind.model_copy(update={"count": 5}),), authentications={"fast": 5}
    )
    longer = lifetime.model_copy(
        update={
            "connections": lifetime.connections + 5,
            "handshakes": (kind.model_copy(update={"count": kind.count + 5}), *lifetime.handshakes[1:]),
        }
    )
    whole = record.model_copy(update={"done": record.done.model_copy(update={"lifetime": longer})})
    assert judge(whole).value == "invalid"
    counted = {"Connections": 5, "Ssl_finished_accepts": 5}
    taken = in_turns(whole, own, claims=claims([(case(), own)]), status_delta=counted)
    assert judge(taken).value == "valid", judge(taken)


def test_of_connections_by_another_address_the_server_need_count_none() -> None:
    made = [(case(), opened(5, full=5)), (case(address="proxy"), opened(4, full=4))]
    assert claims(made) == {
        "connections": (5, None),
        "handshakes": (5, None),
        "session_lookups": (0, None),
    }


@pytest.mark.parametrize(
    ("named", "connections", "handshakes", "hits"),
    [
        ({}, (9, 9), (9, 9), (4, 4)),
        ({"path": "router-terminate"}, (9, 9), (0, 0), (0, None)),
        ({"path": "pgbouncer-terminate"}, (0, None), (0, None), (0, None)),
        ({"path": "pgbouncer-reencrypt"}, (0, None), (0, None), (0, None)),
        ({"client": "psycopg-3"}, (9, None), (9, None), (0, None)),
        ({"client": "psycopg-3", "path": "router-terminate"}, (9, None), (0, 0), (0, 0)),
        ({"client": "psycopg-3", "path": "pgbouncer-terminate"}, (0, None), (0, None), (0, None)),
    ],
)
def test_what_a_server_must_count_goes_by_what_comes_as_far_as_it(
    named: dict[str, str],
    connections: tuple[int, int | None],
    handshakes: tuple[int, int | None],
    hits: tuple[int, int | None],
) -> None:
    assert claims([(case(**named), opened(9, full=5, resumed=4))]) == {
        "connections": connections,
        "handshakes": handshakes,
        "session_lookups": hits,
    }


def shared(
    parts: tuple[tuple[int, int], ...] | None = None,
    *,
    slices: int = 9,
    apart: int = 0,
    address: str = "10.0.0.1",
    host: str = "10.0.0.1",
) -> TrialRecord:
    """A trial of two machines; `parts` are the connections and operations of each."""
    record = record_of(PLAIN)
    assert record.done is not None
    assert record.job is not None
    half = record.done.operations // 2
    known = parts or ((4, half), (4, record.done.operations - half))
    load = Load(
        parts=tuple(
            LoadPart(machine=f"c{place}", connections=connections, cpus=2, operations=operations, cpu_us=1.0)
            for place, (connections, operations) in enumerate(known, start=1)
        ),
        server_address=address,
        slices=slices,
        apart=apart,
        skew_us=80.4,
        longest_skew_us=900.0,
        clock_error_us=20.2,
    )
    endpoint = TcpEndpoint(host=host, port=3306)
    job = record.job.model_copy(update={"connections": 8, "endpoint": endpoint})
    return record.model_copy(update={"load": load, "job": job})


def test_a_load_that_was_shared_as_it_says_is_valid() -> None:
    assert doubts(began_together, shared()) == []
    assert doubts(began_together, record_of(PLAIN)) == []
    assert judge(shared()).value == "valid"


def test_a_machine_that_sent_nothing_is_found() -> None:
    whole = record_of(PLAIN).done
    assert whole is not None
    (doubt,) = doubts(began_together, shared(((4, 0), (4, whole.operations))))
    assert doubt == ("invalid", "no operation came from c1, which was given a part of the load")
    assert judge(shared(((4, 0), (4, whole.operations)))).value == "invalid"


def test_parts_that_are_not_the_whole_are_found() -> None:
    whole = record_of(PLAIN).done
    assert whole is not None
    (doubt,) = doubts(began_together, shared(((4, 1), (4, whole.operations))))
    assert doubt == (
        "invalid",
        f"the load machines finished {whole.operations + 1} operations, all together {whole.operations}",
    )
    (doubt,) = doubts(began_together, shared(((4, 1), (3, whole.operations - 1))))
    assert doubt == ("invalid", "7 connections were given to the load machines, where 8 are wanted")


@pytest.mark.parametrize(("slices", "apart", "is_valid"), [(9, 4, True), (10, 5, True), (9, 5, False)])
def test_slices_that_began_too_far_apart_may_be_a_half(slices: int, apart: int, is_valid: bool) -> None:
    found = doubts(began_together, shared(slices=slices, apart=apart))
    apart_words = "in 5 of 9 slices the load machines began more than a twentieth of it apart"
    words = f"{apart_words} (80 µs in the median, clocks known to 20 µs)"
    assert found == ([] if is_valid else [("invalid", words)])


def test_clients_on_other_machines_are_sent_to_where_those_reach_the_server() -> None:
    claim = ServerClaim(name="mysql-9.7", version="9.7.4", program="/m", pid=1, data_directory="/d")
    elsewhere = shared(host="10.0.0.2").model_copy(update={"claim": claim})
    assert doubts(distance, elsewhere) == [
        ("invalid", "clients were sent to 10.0.0.2, where the server is reached at 10.0.0.1")
    ]
    assert doubts(distance, shared().model_copy(update={"claim": claim})) == []
    here = shared(host="10.0.0.1").model_copy(update={"claim": claim, "load": None})
    assert doubts(distance, here) == [("invalid", "the client was sent to 10.0.0.1, which is not loopback")]
    loopback = shared(host="127.0.0.1").model_copy(update={"claim": claim, "load": None})
    assert doubts(distance, loopback) == []
