"""What is advised at PostgreSQL: what it has that MySQL has not, and nothing that it lacks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspected_servers import asked, certificate, inspected, program, use, view
from made_advice import advice as made_advice
from tlstax.postgres.use_counters import PERMIT
from tlstax.results.inspection import Asked, ConnectPhase, InspectedServer
from tlstax.results.interval import Interval
from tlstax.topics.advice.advise import (
    ELSEWHERE,
    PROGRAMS,
    Advised,
    Change,
    Evidence,
    Now,
    advised,
    now_of,
    steps_for,
    use_of,
)
from tlstax.topics.advice.measured import Measured
from tlstax.topics.advice.redact import redacted
from tlstax.topics.advice.sections import advice_text
from tlstax.topics.inspection.concerns import concerns


def ratio(point: float) -> Interval:
    return Interval(point=point, low=point - 0.01, high=point + 0.01, confidence=0.95, blocks=5)


RATIOS = {name: ratio(0.8) for name in ("pool", "certificate", "group", "groups", "version", "direct")}
EVIDENCE = Evidence(Measured(1000.0, 50.0, 0.03, RATIOS), Measured(2000.0, 100.0, 0.0, {"group": ratio(0.7)}))


def groups(*names: str) -> tuple[Asked, ...]:
    return tuple(
        asked("group", name, taken=view() if name in names else None) for name in ("X25519", "P-256", "P-384")
    )


def server(  # noqa: PLR0913 (each is another thing that may be otherwise)
    version: str = "PostgreSQL 18.4",
    *taken: str,
    hello_retry: bool = False,
    tls: str = "1.3",
    direct: bool = True,
    far_us: float = 50.0,
    iterations: int | None = 4096,
    **other: object,
) -> InspectedServer:
    """A clean PostgreSQL, unless something else is said."""
    found = inspected(default=view(tls, hello_retry=hello_retry), version=version, resumes=(), **other)  # type: ignore[arg-type]
    kept = tuple(own for own in found.asked if own.topic != "resumption")
    tcp = ConnectPhase(
        name="tcp_connect", connects=8, round_trips=1, sent_bytes=0, received_bytes=0, median_us=far_us
    )
    begun = asked("direct", "direct TLS", taken=view() if direct else None)
    word = found.word.model_copy(update={"scram_iterations": iterations})
    return found.model_copy(
        update={
            "asked": (*kept, *groups(*(taken or ("X25519", "P-256"))), begun),
            "connect": (*found.connect, tcp),
            "word": word,
        }
    )


def now(found: InspectedServer) -> Now:
    own = now_of(found)
    assert own is not None
    return own


def ranked(found: InspectedServer, evidence: Evidence = EVIDENCE) -> dict[str, Advised]:
    changes = advised(found, now(found), use_of(found, None, None, None), evidence)
    return {own.change: own for own in changes}


def changes(found: InspectedServer) -> set[str]:
    return {name for name, own in ranked(found).items() if not own.why_not}


def test_of_a_clean_server_nothing_is_advised_and_nothing_that_it_lacks_is_possible() -> None:
    assert changes(server()) == set()
    assert set(ranked(server())) == {"pool", "certificate", "version", "direct"}
    assert set(ranked(server("PostgreSQL 15.9", "P-256", direct=False))) == {"pool", "certificate", "version"}


def test_what_was_planted_is_advised() -> None:
    planted = {
        "certificate": server(chain=(certificate("RSA 4096"),)),
        "groups": server("PostgreSQL 18.4", "P-384", hello_retry=True),
        "group": server("PostgreSQL 15.9", "P-256", hello_retry=True, direct=False, far_us=1000.0),
        "version": server(tls="1.2", versions=("1.2",)),
        "direct": server(far_us=1000.0),
        "login": server(iterations=15_001),
        "chain": server(chain=(certificate(), certificate(), certificate(is_self_signed=True))),
    }
    for change, found in planted.items():
        assert changes(found) == {change}
        own = ranked(found)[change]
        assert own.seen
        assert own.steps
        assert redacted(made_advice(changes=(own,))).changes == (own,), "all that is said of it is public"


def test_the_one_group_of_the_default_before_18_is_named_where_it_costs_something() -> None:
    near = server("PostgreSQL 15.9", "P-256", hello_retry=True, direct=False)
    assert changes(near) == set(), "a clean server"
    own = ranked(near)["group"]
    assert (own.saving.round_trips, own.why_not) == (1, "whether clients reconnect could not be seen")
    assert "group" in changes(server("PostgreSQL 15.9", "P-256", hello_retry=True, watched=use(100.0, 2.0)))
    little = replace(EVIDENCE, like_it=Measured(1000.0, 50.0, 0.01, {**RATIOS, "group": ratio(0.98)}))
    often = server("PostgreSQL 15.9", "P-256", hello_retry=True, watched=use(100.0, 2.0))
    assert ranked(often, little)["group"].why_not == "it saves less than 5 %"
    far = server("PostgreSQL 15.9", "P-256", hello_retry=True, far_us=20_000.0)
    assert ranked(far)["group"].seen == "clients are asked for a second ClientHello, and are 20 ms from it"


@pytest.mark.parametrize(
    ("version", "taken", "option"),
    [
        ("PostgreSQL 18.4", ("X25519", "P-256"), ""),
        ("PostgreSQL 18.4", ("P-256",), "ssl_groups=prime256v1"),
        ("PostgreSQL 18.4", ("P-384", "X25519"), "ssl_groups=X25519:secp384r1"),
        ("PostgreSQL 17.2", ("P-256",), ""),
        ("PostgreSQL 17.2", ("P-384",), "ssl_ecdh_curve=secp384r1"),
        ("9.7.4", ("P-384",), ""),
    ],
)
def test_the_groups_that_a_server_takes_are_an_option_of_one_like_it(
    version: str, taken: tuple[str, ...], option: str
) -> None:
    assert now(server(version, *taken)).group_option == option


def test_the_server_s_groups_save_a_round_trip_whose_time_clients_show() -> None:
    own = ranked(server("PostgreSQL 18.4", "P-256", hello_retry=True))["groups"]
    assert own.what == "X25519 and P-256 among the server's groups"
    assert own.seen == "clients are asked for a second ClientHello: the server takes P-256"
    assert own.saving.round_trips == 1
    assert own.saving.time_us is not None
    assert own.saving.time_us.point == pytest.approx(600)
    older = ranked(server("PostgreSQL 17.2", "P-384", hello_retry=True))["groups"]
    assert older.what == "P-256 among the server's groups"
    assert any("ssl_ecdh_curve = 'prime256v1'" in line for step in older.steps for line in step.lines)


def test_settings_that_cost_each_connection_are_advised_against() -> None:
    found = server()
    word = found.word.model_copy(
        update={
            "costly_settings": (
                *("log_hostname = on", "idle_session_timeout = 30000 ms"),
                *("pre_auth_delay = 1 s", "post_auth_delay = 2 s"),
            )
        }
    )
    own = ranked(found.model_copy(update={"word": word}))
    assert own["lookup"].seen == "the name of each client that connects is looked up (log_hostname = on)"
    assert own["idle"].seen == "sessions that are idle for 30 s are closed, and made anew"
    assert own["delay"].seen == "each connection waits (pre_auth_delay = 1 s, post_auth_delay = 2 s)"
    assert changes(found.model_copy(update={"word": word})) == {"lookup", "idle", "delay"}
    shared = redacted(made_advice(inspected=found.model_copy(update={"word": word}))).inspected.word
    assert shared.costly_settings == word.costly_settings


@pytest.mark.parametrize(
    ("setting", "change", "seen"),
    [
        (
            "idle_session_timeout = 60000 ms",
            "idle",
            "sessions that are idle for 60 s are closed, and made anew",
        ),
        ("idle_session_timeout = 60001 ms", "idle", ""),
        ("idle_session_timeout = 3600000 ms", "idle", ""),
        ("idle_session_timeout = 0 ms", None, ""),
        ("post_auth_delay = 2 s", "delay", "each connection waits (post_auth_delay = 2 s)"),
        ("log_connections = on", None, ""),
    ],
)
def test_each_setting_is_advised_against_where_it_costs_whoever_connects(
    setting: str, change: str | None, seen: str
) -> None:
    found = server()
    word = found.word.model_copy(update={"costly_settings": (setting,)})
    own = ranked(found.model_copy(update={"word": word}))
    assert set(own) - set(ranked(found)) == ({change} if change else set())
    assert change is None or own[change].seen == seen
    assert changes(found.model_copy(update={"word": word})) == ({change} if seen else set())


def test_a_group_that_nobody_asks_for_by_name_is_the_servers_to_mend() -> None:
    found = server("PostgreSQL 18.4", "none", hello_retry=True)
    view_of_it = found.of("default")[0].agreed
    assert view_of_it is not None
    asked_first = found.of("default")[0].model_copy(
        update={"agreed": view_of_it.model_copy(update={"group": "X448"})}
    )
    kept = tuple(own for own in found.asked if own.topic != "default")
    rare = found.model_copy(update={"asked": (asked_first, *kept)})
    assert now(rare).group_option == "ssl_groups=X448"
    assert changes(rare) == {"groups"}
    older = rare.model_copy(update={"word": rare.word.model_copy(update={"version": "PostgreSQL 17.2"})})
    assert now(older).group_option == "ssl_ecdh_curve=X448"


def test_direct_tls_is_for_who_is_far_and_reconnects() -> None:
    assert "direct" not in changes(server(far_us=999.0))
    assert "direct" not in ranked(server(far_us=5000.0, tls="1.2", versions=("1.2",)))
    assert "direct" not in ranked(server(far_us=5000.0, direct=False))
    often, once, seldom = use(100.0, 2.0), use(1.0, 9.0, over_s=100.0), use(0.9, 9.0, over_s=100.0)
    for watched in (often, once):
        assert "direct" in changes(server(far_us=5000.0, watched=watched))
    assert not ranked(server(far_us=5000.0, watched=seldom))["direct"].seen
    assert ranked(server(far_us=20_000.0))["direct"].seen.startswith("clients here are 20 ms from it")
    assert ranked(server())["direct"].saving.round_trips == 1


def test_many_iterations_cost_the_client() -> None:
    spared = Interval(point=38_000.0, low=19_000.0, high=None, confidence=0.95, blocks=3)
    own = ranked(server(iterations=100_000), replace(EVIDENCE, hashing_us=spared))["login"]
    assert own.what == "4,096 iterations of SCRAM in place of 100,000"
    assert own.saving.client_cpu_us == spared
    assert own.saving.server_share is None
    text = advice_text(made_advice(changes=(own,)), width=200, colour=False)
    assert "about −38 ms of the client's CPU a connection, by OpenSSL's hashing here" in text
    assert not ranked(server(iterations=15_000))["login"].seen
    assert ranked(server(iterations=15_001))["login"].seen == "each login hashes the password 15,001 times"
    assert "login" in ranked(server(iterations=4_097))
    assert "login" not in ranked(server(iterations=4_096))
    assert "login" not in ranked(server(iterations=None))


def test_tls_1_3_saves_a_round_trip_where_it_takes_what_clients_offer_first() -> None:
    without = {"tls": "1.2", "versions": ("1.2",)}
    assert ranked(server("PostgreSQL 18.4", "X25519", **without))["version"].saving.round_trips == 1  # type: ignore[arg-type]
    assert ranked(server("PostgreSQL 17.2", "P-256", **without))["version"].saving.round_trips == 0  # type: ignore[arg-type]
    assert ranked(server())["version"].saving.round_trips == 0


def test_connections_are_made_for_transactions() -> None:
    seen = use(100.0, 2.0).model_copy(update={"asked": "transactions"})
    own = ranked(server(watched=seen))["pool"]
    assert own.seen == "100 connections a second are made for 2 transactions each"
    assert redacted(made_advice(changes=(own,))).changes == (own,)
    assert any("pool_mode = transaction" in step.lines for step in own.steps)


def test_who_is_connected_is_known_by_the_application_s_name() -> None:
    named = program(2).model_copy(update={"client": "", "program": "PostgreSQL JDBC Driver"})
    own = ranked(server(watched=use(100.0, 2.0), programs=(named,)))["pool"]
    (step,) = [step for step in own.steps if step.where == PROGRAMS]
    assert step.lines == ("pgjdbc: HikariCP in front of it, maximumPoolSize=N",)
    (general,) = [step for step in steps_for("pool", "PostgreSQL 18.4") if step.where == PROGRAMS]
    assert general.lines[-1] == ELSEWHERE["postgresql"]


CHANGES: tuple[Change, ...] = (
    *("pool", "certificate", "group", "groups"),
    *("version", "chain", "direct", "login"),
    *("lookup", "idle", "delay"),
)


@pytest.mark.parametrize("change", CHANGES)
def test_lines_are_postgresql_s_and_public(change: Change) -> None:
    steps = steps_for(change, "PostgreSQL 18.4")
    said = " ".join(line for step in steps for line in (step.where, *step.lines))
    assert not any(word in said for word in ("my.cnf", "mysqld", "PERSIST", "ALTER INSTANCE"))
    own = ranked(server())["pool"].model_copy(update={"change": change, "steps": steps})
    assert redacted(made_advice(changes=(own,))).changes[0].steps == steps


def test_what_postgresql_says_of_who_is_connected_is_public_but_for_their_names() -> None:
    came = program(2).model_copy(
        update={"client": "", "version": "", "program": "orders", "transport": "TCP/IP (loopback)", "tls": ""}
    )
    found = server(programs=(came,))
    unread = ("how 3 of those that are connected came, and whether by TLS; " + PERMIT,)
    inside = found.inside.model_copy(update={"unread": unread})
    word = found.word.model_copy(update={"password_encryption": "md5", "pooler_leg": "TLS"})
    shared = redacted(
        made_advice(inspected=found.model_copy(update={"inside": inside, "word": word}))
    ).inspected
    (own,) = shared.inside.programs
    assert (own.program, own.transport) == ("(left out)", "TCP/IP (loopback)")
    assert shared.inside.unread == unread
    assert (shared.word.password_encryption, shared.word.pooler_leg) == ("md5", "TLS")
    assert shared.word.scram_iterations == 4096


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "3 connections of (left out) came without TLS over loopback"),
        ({"account_plugin": "md5"}, "this account logs in by md5"),
        ({"admission": ("host md5",)}, "accounts log in by md5"),
    ],
)
def test_what_is_weak_is_public_but_for_names(change: dict[str, object], said: str) -> None:
    came = program(3).model_copy(
        update={"client": "", "version": "", "program": "orders", "transport": "TCP/IP (loopback)", "tls": ""}
    )
    found = server(programs=(came,))
    found = found.model_copy(update={"word": found.word.model_copy(update=change)})
    found = found.model_copy(update={"concerns": concerns(found, host="db.example")})
    shared = redacted(made_advice(inspected=found)).inspected
    assert said in {own.what for own in shared.concerns}
