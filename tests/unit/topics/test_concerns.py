"""What is unsafe about a server, and what connects pay for and need not: each named where it was seen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from inspected_servers import certificate as sent
from inspected_servers import inspected, program
from tlstax.contract import TlsView
from tlstax.results.inspection import (
    Asked,
    Certificate,
    Concern,
    ConnectPhase,
    InspectedServer,
    Program,
    ServerWord,
    Use,
)
from tlstax.topics.inspection.concerns import concerns, is_for, path, payments, use

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
VIEW = TlsView(version="TLSv1.3", cipher="TLS_AES_256_GCM_SHA384", resumed=False)
WORD = ServerWord(
    version="9.7.4",
    tls_library="OpenSSL 3.6",
    account_plugin="caching_sha2_password",
    requires_tls=True,
    account_is_encrypted=True,
)


def certificate(
    *, begins: timedelta = -timedelta(days=1), ends: timedelta = timedelta(days=365), **more: object
) -> Certificate:
    fields = {
        "subject": "CN=db.example",
        "issuer": "CN=somebody",
        "is_self_signed": False,
        "key": "RSA 2048",
        "signature": "SHA256",
        "names": ("db.example",),
        "not_before": (NOW + begins).isoformat(),
        "not_after": (NOW + ends).isoformat(),
        "size_bytes": 900,
        "sha256": "00",
    }
    return Certificate.model_validate({**fields, **more})


def taken(*names: str) -> tuple[Asked, ...]:
    """Everything refused but these."""
    topics = {"TLS 1.0": "version", "TLS 1.1": "version", "TLS 1.2": "version", "RSA key exchange": "suite"}
    return tuple(
        Asked.model_validate({"topic": topic, "name": name, "agreed": VIEW if name in names else None})
        for name, topic in topics.items()
    )


def seen(
    *chain: Certificate,
    word: ServerWord = WORD,
    asked: tuple[Asked, ...] = (),
    offers_tls: bool = True,
    programs: tuple[Program, ...] = (),
) -> InspectedServer:
    return inspected(chain=chain, programs=programs).model_copy(
        update={"at": NOW.isoformat(), "word": word, "asked": asked, "offers_tls": offers_tls, "connect": ()}
    )


def found(*chain: Certificate, is_verified: bool = True, **more: Any) -> list[Concern]:
    return list(concerns(seen(*chain, **more), host="db.example", is_verified=is_verified))


def only(*chain: Certificate, **more: Any) -> Concern:
    (concern,) = found(*chain, **more)
    return concern


def test_nothing_is_unsafe_about_a_clean_server() -> None:
    assert found(certificate(), asked=taken("TLS 1.2")) == []
    assert found(certificate(key="EC P-256"), word=WORD.model_copy(update={"requires_tls": None})) == []


def test_old_versions_are_unsafe() -> None:
    assert only(asked=taken("TLS 1.0", "TLS 1.1", "TLS 1.2")).what == "TLS 1.0 and TLS 1.1 are accepted"
    old = only(asked=taken("TLS 1.1"))
    assert (old.danger, old.what) == ("unsafe", "TLS 1.1 is accepted")


def test_key_exchange_by_rsa_has_no_forward_secrecy() -> None:
    assert only(asked=taken("RSA key exchange")).danger == "weak"


def test_plaintext_is_told_by_what_the_server_says() -> None:
    lax = WORD.model_copy(update={"requires_tls": False})
    assert only(word=lax).what == "connections in the clear are accepted"
    assert only(word=lax, offers_tls=False).what == "the server offers no TLS"


@pytest.mark.parametrize(
    ("ends", "danger", "words"),
    [
        (timedelta(days=30, seconds=1), None, ""),
        (timedelta(days=30), "soon unsafe", "ends in 30 days, on 25 December 2026"),
        (timedelta(days=12, hours=3), "soon unsafe", "ends in 12 days, on 7 December 2026"),
        (timedelta(days=1), "soon unsafe", "ends in 1 day, on 26 November 2026"),
        (timedelta(0), "unsafe", "ended on 25 November 2026"),
    ],
)
def test_a_certificate_that_ends(ends: timedelta, danger: str | None, words: str) -> None:
    said = [(concern.danger, concern.what) for concern in found(certificate(ends=ends))]
    assert said == ([(danger, f"the certificate of CN=db.example {words}")] if danger else [])


def test_a_certificate_that_has_not_begun() -> None:
    assert "is not valid before 26 November 2026" in only(certificate(begins=timedelta(days=1))).what
    assert found(certificate(begins=timedelta(0))) == []


@pytest.mark.parametrize(("key", "unsafe"), [("RSA 1024", True), ("RSA 2047", True), ("RSA 2048", False)])
def test_a_short_key(key: str, unsafe: bool) -> None:
    assert [concern.danger for concern in found(certificate(key=key))] == ["unsafe"] * unsafe


def test_a_broken_signature_counts_where_somebody_else_signed() -> None:
    assert "signed with SHA1" in only(certificate(signature="SHA1")).what
    assert found(certificate(signature="SHA1", is_self_signed=True)) == []


def test_a_certificate_for_another_host_is_refused_by_who_verifies() -> None:
    other = only(certificate(names=("other.example", "third.example")))
    assert other.what == "the certificate is for other.example and third.example, and not for db.example"
    assert other.danger == "weak"
    unnamed = [only(certificate(names=(), subject=subject)).what for subject in ("O=us", "")]
    assert unnamed == [
        "the certificate is for O=us, and not for db.example",
        "the certificate is for no name, and not for db.example",
    ]
    authority = certificate(names=("CA",), subject="CN=somebody", sha256="01")
    assert found(certificate(), authority) == [], "only the server's own has to be for it"


def test_a_certificate_that_the_server_made_is_known_to_nobody() -> None:
    made = certificate(issuer="CN=MySQL_Server_9.7.4_Auto_Generated_CA_Certificate", names=())
    assert only(made).what == "the server made its certificate and its authority by itself"


@pytest.mark.parametrize(
    ("names", "host", "right"),
    [
        (("db.example",), "DB.example", True),
        (("*.example",), "db.example", True),
        (("*.example",), "a.db.example", False),
        (("*.example",), "example", False),
        (("*",), "localhost", False),
        (("other.example", "db.example"), "db.example", True),
        (("192.0.2.1",), "192.0.2.1", True),
        ((), "server", True),
        (("db.example",), "server", False),
    ],
)
def test_whom_a_certificate_is_for(names: tuple[str, ...], host: str, right: bool) -> None:
    assert is_for(certificate(names=names, subject="O=us,CN=server"), host) is right


def root(name: str = "CN=root", sha256: str = "0r") -> Certificate:
    return certificate(subject=name, issuer=name, is_self_signed=True, sha256=sha256, names=())


def authority(issuer: str = "CN=root", sha256: str = "0a") -> Certificate:
    return certificate(subject="CN=somebody", issuer=issuer, sha256=sha256, names=())


def test_an_issuer_that_was_not_sent_is_named_unless_the_chain_was_verified() -> None:
    alone = only(certificate(), is_verified=False)
    assert (
        alone.what == "the server sends its own certificate alone, without that of CN=somebody, who issued it"
    )
    assert "append the certificate of CN=somebody to the file that ssl_cert names" in alone.remedy
    assert alone.steps
    assert found(certificate(), authority(), is_verified=False) == [], "a root need not be sent"
    assert found(certificate(), authority(), root(), is_verified=False) == []


def test_what_is_sent_in_disorder_twice_or_for_nothing_is_named() -> None:
    assert "not sent in the order" in only(certificate(), root(), authority()).what
    assert only(certificate(), authority(), authority(), root()).what == (
        "the server sends the certificate of CN=somebody more than once"
    )
    strangers = [root(f"CN=stranger {number}", f"{number}") for number in range(5)]
    assert only(certificate(), authority(), *strangers).what == (
        "the server sends the certificates of CN=stranger 0, CN=stranger 1, CN=stranger 2 and 2 more that "
        "did not issue the server's"
    )


def test_a_certificate_that_is_not_for_servers() -> None:
    client = only(certificate(purposes=("clientAuth",)))
    assert (client.danger, client.what) == (
        "unsafe",
        "the certificate is for clientAuth, and not for servers",
    )
    assert found(certificate(purposes=("serverAuth", "clientAuth"))) == []
    any_purpose = only(certificate(purposes=("anyExtendedKeyUsage",)))
    assert any_purpose.danger == "unsafe", "OpenSSL takes it for no server's"


def test_a_certificate_of_version_1_has_no_names() -> None:
    assert "is X.509 version 1" in only(certificate(version=1)).what
    assert found(certificate(), authority(), root().model_copy(update={"version": 1})) == []


UPGRADE = "upgrade the server, or have it offer TLS 1.2 and TLS 1.3", "tls_version"
OTHER_KEY = "give it a key that clients take: EC P-256, or RSA 2048", "ssl_cert"


@pytest.mark.parametrize(
    ("accepted", "keys", "takes", "mended_by"),
    [
        (("TLS 1.0",), (), "takes TLS 1.0", UPGRADE),
        ((), (), "took nothing else that was asked for either", UPGRADE),
        (("TLS 1.2",), (), "takes TLS 1.2", OTHER_KEY),
        (("TLS 1.0", "TLS 1.2"), (), "takes TLS 1.0 and TLS 1.2", OTHER_KEY),
        (("TLS 1.2",), ("EC P-384",), "takes TLS 1.2, with a key of EC P-384", OTHER_KEY),
    ],
)
@pytest.mark.parametrize("is_told", [True, False])
def test_who_agrees_to_nothing_of_todays_says_what_it_takes(
    accepted: tuple[str, ...], keys: tuple[str, ...], takes: str, mended_by: tuple[str, str], is_told: bool
) -> None:
    """The reason is that of who asked, or else what was seen of a client left to itself."""
    refusal = "the server has no key for it"
    with_keys = tuple(
        Asked(topic="resumption", name="TLS 1.2", agreed=VIEW.model_copy(update={"certificate_key": key}))
        for key in keys
    )
    at_default = Asked(topic="default", name="a client left to itself", why_not=refusal)
    asked = (*taken(*accepted), *with_keys, *(() if is_told else (at_default,)))
    first, *_ = concerns(seen(asked=asked), host="db", refused=refusal if is_told else "")
    assert (first.danger, first.what) == ("unsafe", "clients left to themselves agree to no TLS with it")
    assert first.why == f"{refusal}; it {takes}"
    remedy, line = mended_by
    assert first.remedy.startswith(remedy)
    assert any(line in own for step in first.steps for own in step.lines)


def test_a_client_that_verifies_says_why_it_refuses_and_nothing_more_is_doubted_of_the_chain() -> None:
    (refused,) = concerns(seen(certificate()), host="db.example", refused_certificate="no authority is known")
    assert (refused.danger, refused.why) == ("unsafe", "no authority is known")
    assert refused.what == "a client that verifies as you do refuses the certificate"
    assert refused.remedy.startswith("a certificate and its chain that clients can verify")


def test_many_names_are_shortened() -> None:
    many = only(certificate(names=tuple(f"host{number}" for number in range(300))))
    assert many.what == "the certificate is for host0, host1, host2 and 297 more, and not for db.example"


def test_the_gravest_comes_first() -> None:
    lax = WORD.model_copy(update={"requires_tls": False})
    several = found(certificate(ends=timedelta(days=3)), word=lax, asked=taken("TLS 1.0"))
    assert [concern.danger for concern in several] == ["unsafe", "soon unsafe", "weak"]


def test_who_came_over_tls_past_the_certificates_end_verifies_nobody() -> None:
    def said(*programs: Program, ends: timedelta = -timedelta(hours=1)) -> list[str]:
        begins = -timedelta(days=9)
        named = found(certificate(begins=begins, ends=ends), programs=programs)
        return [concern.what for concern in named if "do not verify the server" in concern.what]

    own = program(3)
    assert said(own, own) == ["6 connections of app do not verify the server"]
    unnamed = own.model_copy(update={"program": "", "client": "", "connections": 1})
    assert said(unnamed) == ["1 connection of unnamed do not verify the server"]
    assert said(own.model_copy(update={"program": ""})) == [
        "3 connections of libmysql do not verify the server"
    ]
    assert said(own, ends=timedelta(0)) == ["3 connections of app do not verify the server"]
    assert said(own, ends=timedelta(seconds=1)) == []
    assert said(own.model_copy(update={"tls": ""})) == []
    assert said(own.model_copy(update={"transport": "Socket"})) == []
    assert said() == []
    assert found(programs=(own,)) == [], "of a certificate that was not seen nothing is said"


def made(subject: str, issuer: str) -> Certificate:
    names = {"subject": subject, "issuer": issuer, "sha256": subject}
    return sent(is_self_signed=subject == issuer).model_copy(update=names)


LEAF, BETWEEN, ROOT, STRANGER = (
    made("leaf", "between"),
    made("between", "root"),
    made("root", "root"),
    made("stranger", "stranger"),
)


def test_the_path_goes_from_issuer_to_issuer() -> None:
    assert path((LEAF, BETWEEN, ROOT)) == path((LEAF, ROOT, BETWEEN)) == (LEAF, BETWEEN, ROOT)
    assert path((LEAF, STRANGER)) == (LEAF,)
    assert path(()) == ()


def test_authorities_that_issued_each_other_end_it() -> None:
    one, other = made("one", "other"), made("other", "one")
    assert path((one, other)) == (one, other)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ((LEAF,), "its own certificate alone, without that of between"),
        ((LEAF, BETWEEN), ""),
        ((LEAF, BETWEEN, ROOT), ""),
        ((LEAF, STRANGER, BETWEEN, STRANGER), "of stranger that did not issue the server's"),
        ((LEAF, STRANGER, BETWEEN, STRANGER), "of stranger more than once"),
        ((LEAF, BETWEEN, LEAF, LEAF), "the certificate of leaf more than once"),
        ((LEAF, BETWEEN, LEAF, BETWEEN), "the certificates of leaf and between more than once"),
        ((LEAF, ROOT, BETWEEN), "not sent in the order"),
        ((LEAF, STRANGER, BETWEEN, BETWEEN, ROOT), "the certificate of between more than once"),
    ],
)
def test_what_is_sent_besides_the_path_or_out_of_its_order_is_named(
    sent: tuple[Certificate, ...], words: str
) -> None:
    said = [own.what for own in concerns(seen(*sent), host="db")]
    assert [words in what for what in said].count(True) == bool(words), said
    assert bool(said) == bool(words)
    assert any("order" in what for what in said) == ("order" in words)


RETRIED = TlsView(version="TLSv1.3", cipher="x", resumed=False, hello_retry=True)
AT_ONCE = RETRIED.model_copy(update={"hello_retry": False})
WHOLE = ConnectPhase(name="connect", connects=8, round_trips=5, sent_bytes=1, received_bytes=1, median_us=1)


def default(view: TlsView | None) -> Asked:
    return Asked(topic="default", name="a client left to itself", agreed=view)


def key(name: str) -> Certificate:
    return Certificate(
        subject="",
        issuer="",
        is_self_signed=False,
        key=name,
        signature="SHA256",
        names=(),
        not_before="",
        not_after="",
        size_bytes=1,
        sha256="",
    )


def used(statements_per_connect: float | None) -> Use:
    return Use(
        over_s=5.0,
        connects_per_s=12.0,
        statements_per_s=None,
        statements_per_connect=statements_per_connect,
        tls_share=None,
        resumed_share=None,
        received_bytes_per_s=None,
        sent_bytes_per_s=None,
        aborted_connects_per_s=None,
    )


def unneeded(
    *asked: Asked,
    chain: tuple[Certificate, ...] = (),
    watched: Use | None = None,
    connect: tuple[ConnectPhase, ...] = (WHOLE,),
    version: str = "9.7.4",
) -> list[Concern]:
    server = inspected(chain=chain, watched=watched, version=version)
    return list(payments(server.model_copy(update={"asked": asked, "connect": connect})))


def test_nothing_is_paid_for_in_vain_where_nothing_was_seen() -> None:
    taken = [Asked(topic=topic, name="TLS 1.3", agreed=AT_ONCE) for topic in ("version", "resumption")]
    assert unneeded(default(AT_ONCE), *taken, chain=(key("RSA 2048"),), watched=used(20.0)) == []
    assert unneeded(default(None), chain=(key("EC P-256"),), watched=used(None)) == []
    assert unneeded() == []


def test_a_second_hello_is_a_round_trip_of_each_connect() -> None:
    (paid,) = unneeded(default(RETRIED))
    assert paid.why == "one round trip of 5 of each connect, resumed or not"
    assert "P-256:X25519" in paid.remedy
    (unknown,) = unneeded(default(RETRIED), connect=())
    assert unknown.why == "one round trip of each connect, resumed or not"


@pytest.mark.parametrize(("spoken", "paid"), [(True, ["sessions of TLS 1.2 are not resumed"]), (False, [])])
def test_sessions_that_are_not_resumed_where_the_version_is_spoken(spoken: bool, paid: list[str]) -> None:
    version = Asked(topic="version", name="TLS 1.2", agreed=AT_ONCE if spoken else None)
    assert [one.what for one in unneeded(version, Asked(topic="resumption", name="TLS 1.2"))] == paid


@pytest.mark.parametrize(
    ("name", "costs"),
    [
        ("RSA 4096", "two to four times"),
        ("RSA 3072", "more of"),
        ("RSA-PSS 4096", "more of"),
        ("RSA 2048", None),
        ("EC P-256", None),
        ("EC P-521", "several times"),
    ],
)
def test_a_long_key_is_paid_for_in_each_full_handshake(name: str, costs: str | None) -> None:
    paid = unneeded(chain=(key(name), key("RSA 4096")))
    assert [one.why.startswith(costs or "") for one in paid] == ([True] if costs else [])


@pytest.mark.parametrize(
    ("cipher", "group", "slow"),
    [
        ("DHE-RSA-AES256-GCM-SHA384", "ffdhe2048", "DHE (ffdhe2048)"),
        ("DHE-RSA-AES256-GCM-SHA384", None, "DHE"),
        ("TLS_AES_128_GCM_SHA256", "ffdhe3072", "DHE (ffdhe3072)"),
        ("TLS_AES_128_GCM_SHA256", "secp521r1", "P-521"),
        ("TLS_AES_128_GCM_SHA256", "secp256r1", None),
        ("ECDHE-RSA-AES256-GCM-SHA384", "x25519", None),
        ("AES256-GCM-SHA384", None, None),
    ],
)
def test_a_slow_key_exchange_is_the_cause_of_the_time(
    cipher: str, group: str | None, slow: str | None
) -> None:
    view = TlsView(version="TLSv1.2", cipher=cipher, resumed=False, group=group)
    whole = WHOLE.model_copy(update={"median_us": 12_600.0})
    tls = WHOLE.model_copy(update={"name": "tls_handshake", "median_us": 12_200.0})
    paid = unneeded(default(view), connect=(whole, tls))
    assert [own.what for own in paid] == (
        [f"clients left to themselves exchange keys by {slow}"] if slow else []
    )
    for own in paid:
        assert own.why.startswith("12.2 of 12.6 ms of a connect from here are TLS")
        assert bool(own.steps) == (slow is not None and slow.startswith("DHE"))


def test_clients_in_the_clear_are_not_told_what_tls_costs_them() -> None:
    (plain,) = unneeded(watched=used(1.0).model_copy(update={"tls_share": 0.0}))
    assert "none of them uses TLS" in plain.why


def test_no_variable_is_named_that_the_server_has_not() -> None:
    asked = [
        Asked(topic="version", name="TLS 1.2", agreed=AT_ONCE),
        Asked(topic="resumption", name="TLS 1.2"),
    ]
    for version, has_it in (("8.0.29", True), ("8.0.28", False), ("11.8.9-MariaDB", False)):
        (paid,) = unneeded(*asked, connect=(), version=version)
        assert ("ssl_session_cache_mode" in str(paid)) == has_it


def test_few_statements_a_connection_come_first() -> None:
    paid = unneeded(default(RETRIED), watched=used(1.0))
    assert paid[0].what == "clients make 12 connections a second, for 1 statement each"
    assert len(paid) == 2


BEFORE = {
    "uptime_s": 100,
    "connections": 50,
    "statements": 1000,
    "received_bytes": 10_000,
    "sent_bytes": 20_000,
    "aborted_connects": 1,
    "handshakes": 40,
    "session_lookups": 4,
}
AFTER = {
    "uptime_s": 110,
    "connections": 70,
    "statements": 1100,
    "received_bytes": 10_500,
    "sent_bytes": 21_000,
    "aborted_connects": 2,
    "handshakes": 50,
    "session_lookups": 9,
}


def test_what_was_done_between_is_a_rate() -> None:
    assert use(BEFORE, AFTER, 10.0) == Use(
        over_s=10.0,
        connects_per_s=2.0,
        statements_per_s=10.0,
        statements_per_connect=5.0,
        tls_share=0.5,
        resumed_share=0.5,
        received_bytes_per_s=50.0,
        sent_bytes_per_s=100.0,
        aborted_connects_per_s=0.1,
    )


def test_since_the_start_everything_counts() -> None:
    found = use({}, BEFORE, 100.0)
    assert found is not None
    assert (found.connects_per_s, found.tls_share, found.resumed_share) == (0.5, 0.8, 0.1)


def test_what_was_asked_to_find_out_does_not_count() -> None:
    found = use(BEFORE, AFTER, 10.0, 20)
    assert found is not None
    assert (found.statements_per_s, found.statements_per_connect) == (8.0, 4.0)
    idle = use(BEFORE, {**BEFORE, "uptime_s": 110, "statements": 1001}, 10.0, 2)
    assert idle is not None
    assert idle.statements_per_s == 0.0, "a server may count the last one late"


def test_what_is_not_counted_is_none() -> None:
    found = use({}, {"uptime_s": 10, "connections": 20}, 10.0)
    assert found is not None
    assert (found.connects_per_s, found.statements_per_s, found.tls_share) == (2.0, None, None)


def test_without_connections_there_are_no_shares() -> None:
    idle = use(BEFORE, {**BEFORE, "uptime_s": 110}, 10.0)
    assert idle is not None
    assert (idle.connects_per_s, idle.statements_per_connect, idle.tls_share) == (0.0, None, None)


def test_of_a_server_that_was_started_anew_nothing_is_known() -> None:
    assert use(BEFORE, {**AFTER, "uptime_s": 5}, 10.0) is None
    assert use(BEFORE, {**AFTER, "statements": 7}, 10.0) is None, "somebody reset the counters"
    assert use({}, {"uptime_s": 1}, 1.0) is None
    assert use({}, AFTER, 0.0) is None
    assert use({}, AFTER, 0.5) is not None


POSTGRESQL = WORD.model_copy(update={"version": "PostgreSQL 18.4", "account_plugin": "scram-sha-256-plus"})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"admission": ("hostssl scram-sha-256", "hostssl cert", "hostssl password")}, []),
        ({"admission": ("host trust",)}, ["pg_hba.conf trusts clients over TCP (trust)"]),
        (
            {"admission": ("hostssl cert", "host trust (behind other lines)")},
            ["pg_hba.conf has a line that trusts clients over TCP behind others (trust)"],
        ),
        (
            {"admission": ("host password", "hostssl md5")},
            [
                "pg_hba.conf asks for passwords in the clear on connections without TLS (password)",
                "accounts log in by md5",
            ],
        ),
        (
            {"admission": ("hostnossl password",)},
            ["pg_hba.conf asks for passwords in the clear on connections without TLS (password)"],
        ),
        ({"account_plugin": "md5"}, ["this account logs in by md5"]),
        (
            {"password_encryption": "md5"},
            ["passwords that are set from now on are kept by md5 (password_encryption)"],
        ),
        ({"password_encryption": "scram-sha-256", "pooler_leg": "TLS"}, []),
        ({"pooler_leg": "Unix socket"}, []),
        ({"pooler_leg": "in the clear"}, ["the pooler in front comes to the server in the clear"]),
    ],
)
def test_how_postgresql_lets_clients_in(changes: dict[str, Any], said: list[str]) -> None:
    word = POSTGRESQL.model_copy(update=changes)
    found = inspected(chain=(certificate(),)).model_copy(update={"word": word, "at": NOW.isoformat()})
    assert [own.what for own in concerns(found, host="db.example", is_verified=True)] == said


def judged(**changes: object) -> list[Concern]:
    """The concerns of a PostgreSQL of which something is otherwise."""
    found = inspected(chain=(certificate(),)).model_copy(
        update={"word": POSTGRESQL, "at": NOW.isoformat(), **changes}
    )
    return list(concerns(found, host="db.example", is_verified=True))


@pytest.mark.parametrize(
    ("transport", "tls", "said"),
    [
        ("TCP/IP", "", ("unsafe", "2 connections of app came without TLS")),
        ("TCP/IP (loopback)", "", ("weak", "2 connections of app came without TLS over loopback")),
        ("TCP/IP", "TLSv1.3", None),
        ("Socket", "", None),
        ("", "", None),
    ],
)
def test_who_came_to_a_postgresql_without_tls_is_named(
    transport: str, tls: str, said: tuple[str, str] | None
) -> None:
    came = program(2).model_copy(update={"transport": transport, "tls": tls})
    inside = inspected(programs=(came,)).inside
    found = [(own.danger, own.what) for own in judged(inside=inside)]
    assert found == ([said] if said else [])
    own = next(iter(judged(inside=inside)), None)
    assert own is None or any("hostssl all all all" in line for step in own.steps for line in step.lines)
    without = inspected(programs=(came,)).model_copy(update={"at": NOW.isoformat()})
    assert not any("came without TLS" in own.what for own in concerns(without, host="db")), (
        "MySQL counts that"
    )


def test_a_postgresql_without_tls_is_given_it_and_a_pooler_by_its_own_option() -> None:
    (own,) = judged(offers_tls=False, chain=())
    assert any("ssl = on" in step.lines for step in own.steps)
    pooler = POSTGRESQL.model_copy(update={"pooler_leg": "TLS"})
    (other,) = judged(offers_tls=False, chain=(), word=pooler)
    assert (other.remedy, other.steps) == ("have the pooler offer it (client_tls_sslmode)", ())


def test_an_address_that_verifies_nothing_is_named() -> None:
    found = inspected(chain=(certificate(),)).model_copy(update={"word": POSTGRESQL, "at": NOW.isoformat()})
    said = concerns(found, host="db.example", is_verified=True, unverified_by="sslmode=require in the URL")
    assert [(own.danger, own.what) for own in said] == [
        ("weak", "sslmode=require in the URL does not verify the server")
    ]


def test_the_groups_of_a_postgresql_are_mended_where_it_has_a_list_of_them() -> None:
    there, in_clients = "X25519 and P-256 among the server's groups", "P-256 first in the clients' groups"
    for version, mended in (("PostgreSQL 18.4", True), ("PostgreSQL 18.0", True), ("PostgreSQL 17.2", False)):
        asked_twice = VIEW.model_copy(update={"hello_retry": True})
        default = Asked(topic="default", name="a client left to itself", agreed=asked_twice)
        word = POSTGRESQL.model_copy(update={"version": version})
        (own,) = payments(inspected().model_copy(update={"asked": (default,), "word": word}))
        assert any("ssl_groups" in line for step in own.steps for line in step.lines) == mended
        assert own.remedy.startswith(there if mended else in_clients)


def test_a_postgresql_is_spoken_of_in_its_own_words() -> None:
    ended = certificate(ends=-timedelta(days=1), names=("other.example",))
    found = inspected(chain=(ended,)).model_copy(update={"word": POSTGRESQL, "at": NOW.isoformat()})
    said = " ".join(f"{own.what} {own.why} {own.remedy}" for own in concerns(found, host="db.example"))
    assert "(verify-ca)" in said
    assert "the file that ssl_cert_file names" in said
    for word in ("VERIFY_", "ssl_cert ", "my.cnf", "MySQL"):
        assert word not in said
    pays = payments(
        found.model_copy(
            update={
                "inside": found.inside.model_copy(
                    update={"watched": use({}, {"connections": 100, "transactions": 200}, 10.0)}
                )
            }
        )
    )
    assert pays[0].what == "clients make 10 connections a second, for 2 transactions each"
    assert pays[0].remedy == "keep connections: a pool in the application, or a pooler (PgBouncer)"
