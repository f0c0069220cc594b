"""What each check of the treatment says of what is not as claimed: whole sentences, and every limit."""

from __future__ import annotations

from typing import Any

import pytest
from test_checks import FULL, PLAIN, RESUMED, record_of, shaking_hands, with_done, with_server

from check_by_check import doubts
from fake_trials import with_errors
from tlstax.checks.handshakes import missed
from tlstax.checks.treatment import (
    NOT_STARTED,
    cache_hits,
    cipher,
    encryption,
    is_of_level,
    key_exchange,
    logins,
    resumption,
    server_counts,
    work,
)
from tlstax.contract import CompressedBytes, ErrorCount, ErrorEvent, Handshakes, Negotiated, Wire
from tlstax.records.server_counts import counting_of
from tlstax.records.trial import TrialRecord
from tlstax.study import Level, workloads

MARIADB = counting_of("11.8.6-MariaDB", None, {})

TLS12: dict[str, Level] = {**FULL.levels, "tls": "1.2"}
NAMELESS: dict[str, Level] = {"workload": "reconnect", "connections": 8}
ENDED: dict[str, Level] = {**FULL.levels, "path": "router-terminate"}
BEGUN: dict[str, Level] = {**FULL.levels, "path": "router-reencrypt"}


def asked(record: TrialRecord, **changes: Any) -> TrialRecord:
    """The same trial, of which one connection was asked, and what was seen on it was otherwise."""
    assert record.ready is not None
    (one, *_) = record.ready.negotiated
    ready = record.ready.model_copy(update={"negotiated": (one.model_copy(update=changes),)})
    return record.model_copy(update={"ready": ready})


def seen_of(record: TrialRecord) -> Negotiated:
    assert record.ready is not None
    return record.ready.negotiated[0]


def made(record: TrialRecord) -> int:
    assert record.done is not None
    return record.done.lifetime.connections


def counting(record: TrialRecord, **counters: int) -> TrialRecord:
    return with_server(record, status_delta=counters)


def test_encryption_that_is_not_as_claimed_is_told_of_each_side_and_of_the_handshakes() -> None:
    assert doubts(encryption, record_of(FULL), PLAIN.levels) == [
        ("invalid", "the client says TLSv1.3 where the case is plaintext"),
        ("invalid", "the server says TLSv1.3 where the case is plaintext"),
        ("invalid", f"{made(record_of(FULL))} TLS handshakes were made where there must be none"),
    ]
    assert doubts(encryption, record_of(FULL), NAMELESS) == doubts(encryption, record_of(FULL), PLAIN.levels)
    assert doubts(encryption, record_of(PLAIN), FULL.levels) == [
        ("invalid", "the client says that the connection is not encrypted"),
        ("invalid", "the server says that the connection is not encrypted"),
    ]
    assert doubts(encryption, record_of(FULL), TLS12) == [
        ("invalid", "the client says TLSv1.3 where the case is TLS 1.2"),
        ("invalid", "the server says TLSv1.3 where the case is TLS 1.2"),
        ("invalid", f"{made(record_of(FULL))} handshakes negotiated TLSv1.3"),
    ]
    assert doubts(encryption, record_of(FULL), {**FULL.levels, "tls": "default"}) == []


def test_a_connection_must_have_been_asked() -> None:
    record = record_of(FULL)
    assert record.ready is not None
    silent = record.model_copy(update={"ready": record.ready.model_copy(update={"negotiated": ()})})
    assert doubts(encryption, silent) == [("unknown", "no connection was asked what it had negotiated")]
    assert doubts(encryption, with_server(silent, connections=())) == [], "they told of themselves"


def test_both_sides_must_have_negotiated_the_same() -> None:
    record = record_of(FULL)
    server = seen_of(record).server
    assert server is not None
    other = server.model_copy(update={"cipher": "TLS_AES_256_GCM_SHA384"})
    assert doubts(encryption, asked(record, server=other)) == [
        (
            "invalid",
            "the client negotiated ('TLSv1.3', 'TLS_AES_128_GCM_SHA256') where the server says ('TLSv1.3', "
            "'TLS_AES_256_GCM_SHA384')",
        )
    ]
    wolfssl = server.model_copy(update={"cipher": "TLS13-AES128-GCM-SHA256"})
    assert doubts(encryption, asked(record, server=wolfssl)) == []
    assert doubts(encryption, asked(record, server=other), BEGUN) == [], "the path's is its own affair"


def test_what_is_left_to_the_driver_only_has_to_be_the_same() -> None:
    left: dict[str, Level] = {**FULL.levels, "tls": "unset"}
    said = [("invalid", "client and server do not agree on whether a connection is encrypted")]
    assert doubts(encryption, record_of(FULL), left) == []
    assert doubts(encryption, record_of(PLAIN), left) == []
    assert doubts(encryption, asked(record_of(FULL), client=None), left) == said
    assert doubts(encryption, asked(record_of(FULL), server=None), left) == said
    assert doubts(encryption, asked(record_of(FULL), client=None, client_tells=False), left) == []


def test_a_client_that_does_not_tell_is_not_believed() -> None:
    record = asked(record_of(FULL), client=None, client_tells=False)
    assert doubts(encryption, record) == []
    assert doubts(encryption, record, TLS12)[0] == (
        "invalid",
        "the server says TLSv1.3 where the case is TLS 1.2",
    )


def test_behind_a_path_that_ends_tls_the_server_sees_none() -> None:
    record = asked(record_of(FULL), server=None)
    assert doubts(encryption, record, ENDED) == []
    assert doubts(encryption, record_of(FULL), ENDED) == [
        ("invalid", "the server says TLSv1.3 where the case is plaintext")
    ]


def test_every_key_exchange_is_in_the_group_of_the_case() -> None:
    record = record_of(FULL)
    x25519: dict[str, Level] = {**FULL.levels, "group": "X25519"}
    said = f"{made(record)} handshakes used secp256r1, not x25519"
    assert doubts(key_exchange, record, x25519) == [("invalid", said)]
    assert doubts(key_exchange, record, {**FULL.levels, "group": "P-256"}) == []
    assert doubts(key_exchange, record) == []
    assert doubts(key_exchange, shaking_hands(record, group=None), x25519) == [], "resumed in TLS 1.2"


def test_of_a_list_the_first_is_used_and_no_second_hello_asked_for() -> None:
    listed: dict[str, Level] = {**FULL.levels, "group": "P-256-first"}
    record = record_of(FULL)
    n = made(record)
    assert doubts(key_exchange, shaking_hands(record, hello_retry=True), listed) == [
        (
            "invalid",
            f"{n} handshakes met a HelloRetryRequest, though secp256r1 was taken, for which the client had "
            "sent its key share",
        )
    ]
    assert doubts(key_exchange, shaking_hands(record, hello_retry=False, group="x25519"), listed) == [
        ("invalid", f"{n} handshakes used x25519, not secp256r1, the first that was offered")
    ]
    assert doubts(key_exchange, shaking_hands(record, hello_retry=True, group=None), listed) == []
    alone: dict[str, Level] = {**FULL.levels, "group": "P-256"}
    assert doubts(key_exchange, shaking_hands(record, hello_retry=True), alone) == []


def test_another_cipher_suite_is_told_of_handshakes_and_of_the_client() -> None:
    record = record_of(FULL)
    other: dict[str, Level] = {**FULL.levels, "cipher": "TLS_AES_256_GCM_SHA384"}
    assert doubts(cipher, record, other) == [
        (
            "invalid",
            f"{made(record)} handshakes agreed on TLS_AES_128_GCM_SHA256, not TLS_AES_256_GCM_SHA384",
        ),
        ("invalid", "the client says TLS_AES_128_GCM_SHA256 where the case is TLS_AES_256_GCM_SHA384"),
    ]
    assert doubts(cipher, record) == []
    assert doubts(cipher, record, {**FULL.levels, "cipher": "default"}) == []
    right: dict[str, Level] = {**FULL.levels, "cipher": "TLS_AES_128_GCM_SHA256"}
    assert doubts(cipher, asked(record, client=None), right) == []


def test_handshakes_are_resumed_exactly_where_the_case_says_so() -> None:
    full, resumed = record_of(FULL), record_of(RESUMED)
    assert doubts(resumption, full) == doubts(resumption, resumed) == []
    said = [("invalid", f"{made(resumed)} handshakes were resumed where none may be")]
    assert doubts(resumption, resumed, FULL.levels) == doubts(resumption, resumed, NAMELESS) == said
    assert full.done is not None
    measured = sum(seen.count for seen in full.done.window.handshakes)
    assert doubts(resumption, full, RESUMED.levels) == [
        ("invalid", f"{measured} measured handshakes were full, not resumed"),
        ("invalid", "the client says that a connection had not been resumed"),
        ("invalid", "the server says that a connection had not been resumed"),
    ]
    assert doubts(resumption, full, {**RESUMED.levels, "path": "router-reencrypt"})[1:] == [
        ("invalid", "the client says that a connection had not been resumed")
    ]
    client = seen_of(resumed).client
    assert client is not None
    silent = client.model_copy(update={"resumed": None})
    assert doubts(resumption, asked(resumed, client=silent, server=None)) == []


def otherwise(counted: int, what: str, counter: str, claimed: int) -> tuple[str, str]:
    return "invalid", f"the server counted {counted} {what} ({counter}), the client {claimed}"


def test_the_server_counts_what_the_client_counts() -> None:
    record = record_of(RESUMED)
    n = made(record)
    hits = 2 * n  # each handshake of the fake world met a HelloRetryRequest
    right = {"Connections": n, "Ssl_finished_accepts": n, "Ssl_session_cache_hits": hits}
    assert doubts(server_counts, counting(record, **right)) == []
    assert doubts(server_counts, counting(record)) == [
        otherwise(0, "connections", "Connections", n),
        otherwise(0, "TLS handshakes", "Ssl_finished_accepts", n),
        otherwise(0, "look-ups of resumed sessions", "Ssl_session_cache_hits", hits),
    ]
    more = counting(record, **{name: number + 1 for name, number in right.items()})
    assert doubts(server_counts, more)[0] == otherwise(n + 1, "connections", "Connections", n)
    guest = more.model_copy(update={"guest": True})
    assert doubts(server_counts, guest) == [("note", "others used the server during the trial")] * 3
    fewer = counting(record, **{**right, "Connections": n - 1}).model_copy(update={"guest": True})
    assert doubts(server_counts, fewer) == [otherwise(n - 1, "connections", "Connections", n)]


def test_mariadb_counts_no_resumed_sessions() -> None:
    note = ("note", "MariaDB does not count resumed sessions: the client's word alone shows them")
    for case, expected in ((RESUMED, [note]), (FULL, [])):
        record = with_server(record_of(case), version="11.8.3-MariaDB")
        n = made(record)
        right = counting(record, Connections=n, Ssl_finished_accepts=n)
        assert doubts(server_counts, right) == expected
        short = counting(record, Connections=n, Ssl_finished_accepts=n - 1)
        assert doubts(server_counts, short) == [*expected, ("note", missed(MARIADB, n - 1, n))]
        wrong = counting(record, Connections=n, Ssl_finished_accepts=n // 2)
        assert doubts(server_counts, wrong)[-1] == otherwise(
            n // 2, "TLS handshakes", "Ssl_finished_accepts", n
        )


def test_yassl_counts_no_handshakes() -> None:
    note = ("note", "yaSSL does not count handshakes: the client's word alone shows how many")
    for case, expected in ((FULL, [note]), (PLAIN, [])):
        record = with_server(record_of(case), version="5.6.14", tls_library_version=None)
        assert doubts(server_counts, counting(record, Connections=made(record))) == expected
        assert doubts(server_counts, counting(record))[-1] == otherwise(
            0, "connections", "Connections", made(record)
        )


def test_clients_that_others_speak_for_are_not_asked_here() -> None:
    record = counting(record_of(FULL))
    assert doubts(server_counts, record, {**FULL.levels, "client": "pymysql-1.1"}) == []
    told = with_server(record, connections=())
    assert doubts(server_counts, told) == [otherwise(0, "connections", "Connections", made(record))]


def test_behind_a_path_the_server_sees_its_handshakes() -> None:
    record = record_of(RESUMED)
    n = made(record)
    assert doubts(server_counts, counting(record, Connections=n), ENDED) == []
    assert doubts(server_counts, counting(record, Connections=n, Ssl_finished_accepts=n), BEGUN) == []
    assert doubts(server_counts, counting(record, Connections=n, Ssl_finished_accepts=1), ENDED) == [
        otherwise(1, "TLS handshake", "Ssl_finished_accepts", 0)
    ]


def test_a_session_is_looked_up_for_each_hello_that_offers_it() -> None:
    def shaken(count: int, *, resumed: bool, hello_retry: bool) -> Handshakes:
        return Handshakes(
            version="TLSv1.3", cipher="c", group="g", resumed=resumed, hello_retry=hello_retry, count=count
        )

    assert (
        cache_hits(
            (
                shaken(3, resumed=True, hello_retry=False),
                shaken(5, resumed=True, hello_retry=True),
                shaken(100, resumed=False, hello_retry=True),
            )
        )
        == 3 + 2 * 5
    )


def test_measured_logins_take_the_fast_path() -> None:
    record = record_of(PLAIN)
    assert record.done is not None
    ways = {"fast": 9, "full_tls": 1, "full_rsa": 2, "full_socket": 3, "cleartext": 4}
    window = record.done.window.model_copy(update={"authentications": ways})
    slow = [
        ("invalid", f"{took} took the slow path ({way})")
        for way, took in (
            ("full_tls", "1 measured login"),
            ("full_rsa", "2 measured logins"),
            ("full_socket", "3 measured logins"),
        )
    ]
    assert doubts(logins, with_done(record, window=window)) == slow
    assert doubts(logins, with_done(record, window=window), ENDED) == [
        ("note", "the path asked 1 client for the password in full, over TLS"),
        *slow[1:],
    ]


def test_errors_are_few_to_one_in_a_hundred() -> None:
    record = with_done(record_of(PLAIN), operations=990)
    assert doubts(work, with_errors(record, "timeout", 10)) == [("note", "10 operations failed")]
    assert doubts(work, with_errors(record, "timeout", 11)) == [
        ("invalid", "11 of 1001 operations failed (timeout 2013)")
    ]
    assert doubts(work, record) == []


def test_kinds_of_errors_are_told_in_order_and_conflicts_apart() -> None:
    record = with_errors(with_done(record_of(PLAIN), operations=10), "timeout", 4)
    assert record.done is not None
    (one,) = record.done.errors
    errors = (
        one,
        one.model_copy(update={"kind": "server_error", "code": 1213, "count": 7}),
        one.model_copy(update={"kind": "broken", "code": 5, "count": 2}),
    )
    assert doubts(work, with_done(record, errors=errors)) == [
        ("invalid", "6 of 16 operations failed (broken 5, timeout 2013)"),
        ("note", "the server rolled back 7 operations that conflicted with others"),
    ]


def test_nothing_done_and_work_not_started_are_told() -> None:
    assert doubts(work, with_done(record_of(PLAIN), operations=0)) == [
        ("invalid", "no operation was finished")
    ]
    assert doubts(work, with_done(record_of(PLAIN), operations=1)) == []
    assert doubts(work, with_done(record_of(PLAIN), skipped=1)) == [("note", NOT_STARTED)]


def test_rows_must_be_the_servers() -> None:
    strange = record_of(PLAIN).model_copy(update={"row_mismatches": ("SELECT 7", "SELECT 8")})
    said = "rows differ from the server's: SELECT 7"
    assert doubts(work, strange) == [("invalid", said)]
    assert doubts(work, strange, {**PLAIN.levels, "workload": "mine"}) == [("note", said)]
    bare = with_done(record_of(PLAIN), row_samples=())
    unknown = [("unknown", "no row was kept to be checked at the server")]
    assert doubts(work, bare) == unknown
    assert doubts(work, bare.model_copy(update={"job": None})) == unknown
    ((_, own),) = doubts(work, bare, {**PLAIN.levels, "workload": "mine"})
    assert own == unknown[0][1] + ": those of one statement are, at most 20,000 (a; b are two)"
    assert doubts(work, with_server(bare, connections=())) == []


@pytest.mark.parametrize(
    ("came", "weight", "said"),
    [
        (None, "unknown", "results were too large to be kept, and how many bytes came is not known"),
        (20_971_519, "invalid", "20,971,519 bytes came, fewer than the 20,971,520 of the rows asked for"),
        (
            20_971_520,
            "note",
            "results were too large to be kept and checked; as many bytes came as were asked for",
        ),
    ],
)
def test_of_results_too_large_to_keep_as_many_bytes_must_have_come(
    came: int | None, weight: str, said: str
) -> None:
    """Two results of ten rows of a MiB."""
    wire = came and Wire(bytes_sent=1, bytes_received=came, segments_sent=1, segments_received=1)
    bare = with_done(record_of(PLAIN), row_samples=(), operations=2, wire=wire)
    assert doubts(work, bare, {**PLAIN.levels, "workload": "rows-10x1048576"}) == [(weight, said)]


def test_what_writes_shows_no_rows_to_be_asked_for_again() -> None:
    """What reads and writes in one transaction answers with rows that may have changed since."""
    bare = with_done(record_of(PLAIN), row_samples=())
    assert bare.job is not None
    both = workloads.built_in("oltp-read-write", "sbtest1", 100)
    assert workloads.returns_rows(both)
    assert doubts(work, bare.model_copy(update={"job": bare.job.model_copy(update={"workload": both})})) == []


@pytest.mark.parametrize(
    ("version", "level", "is_it"),
    [
        ("TLSv1.3", "1.3", True),
        ("TLSv1", "1.0", True),
        ("TLSv1.2", "1.3", False),
        ("TLSv1.2", "default", True),
        ("TLSv1.3", "required", True),
    ],
)
def test_which_version_a_level_names(version: str, level: str, *, is_it: bool) -> None:
    assert is_of_level(version, level) is is_it


@pytest.mark.parametrize(
    ("bytes_received", "weight"),
    [(20_000_000, "note"), (16_773_120, "note"), (16_773_119, "invalid"), (None, "unknown")],
)
def test_of_results_too_large_to_keep_the_bytes_say_that_they_were_whole(
    bytes_received: int | None, weight: str
) -> None:
    bare = with_done(record_of(PLAIN), row_samples=(), operations=1)
    assert bare.done is not None
    came = {"bytes_sent": 1, "segments_sent": None, "segments_received": None}
    wire = Wire(bytes_received=bytes_received, **came) if bytes_received else None
    large = with_done(bare, wire=wire)
    ((found, _),) = doubts(work, large, {**PLAIN.levels, "workload": "rows-1638x10240"})
    assert found == weight
    ((small, _),) = doubts(work, large, {**PLAIN.levels, "workload": "rows-10x10240"})
    assert small == "unknown"


@pytest.mark.parametrize(("plain", "weight"), [(16_773_120, "note"), (16_773_119, "invalid")])
def test_of_what_was_compressed_the_bytes_before_count(plain: int, weight: str) -> None:
    packed = CompressedBytes(plain_sent=90, packed_sent=97, plain_received=plain, packed_received=8_000_000)
    bare = with_done(record_of(PLAIN), row_samples=(), operations=1, compression=packed)
    ((found, _),) = doubts(work, bare, {**PLAIN.levels, "workload": "rows-1638x10240"})
    assert found == weight


@pytest.mark.parametrize(("name", "expected"), [("rows-5x1000", "invalid"), ("of-my-own", "note")])
def test_rows_that_differ_are_no_doubt_only_of_a_users_own_statements(name: str, expected: str) -> None:
    differs = record_of(PLAIN).model_copy(update={"row_mismatches": ("SELECT @x",)})
    found = doubts(work, differs, {**PLAIN.levels, "workload": name})
    assert [weight for weight, words in found if "differ" in words] == [expected]


def test_an_error_is_told_in_the_words_that_the_client_heard() -> None:
    said = "the server answered with error 1226 (42000): User 'ann' has exceeded the 'max_questions' resource"
    heard = ErrorEvent(kind="server_error", fault="server", fatal=False, message=said, code=1226, count=3)
    record = with_done(
        record_of(PLAIN), operations=0, errors=(ErrorCount(kind="server_error", code=1226, count=3),)
    ).model_copy(update={"client_errors": (heard,)})
    assert doubts(work, record) == [("invalid", f"3 of 3 operations failed ({said})")]


@pytest.mark.parametrize(("server", "shown"), [(None, "no TLS"), ("TLSv1.2", "TLSv1.2")])
def test_behind_another_address_the_servers_leg_is_shown_and_not_set_against_ours(
    server: str | None, shown: str
) -> None:
    """Its counters are of that leg: none of its connections, and none of its handshakes, are ours."""
    by_proxy: dict[str, Level] = {**FULL.levels, "address": "proxy"}
    record = counting(record_of(FULL), Connections=1)
    seen = seen_of(record).server
    assert seen is not None
    record = asked(record, server=seen.model_copy(update={"version": server}) if server else None)
    assert doubts(encryption, record, by_proxy) == []
    ((weight, words),) = doubts(server_counts, record, by_proxy)
    assert (weight, words.split(":")[0]) == ("note", f"behind proxy the server sees {shown}")
    assert doubts(server_counts, record, FULL.levels)[0][0] == "invalid", "by its own address it is"
    plain: dict[str, Level] = {**PLAIN.levels, "address": "proxy"}
    assert ("invalid", "the client says TLSv1.3 where the case is plaintext") in doubts(
        encryption, record, plain
    )
