"""Which drivers could connect to a server, and at what the others fail, from what both are known to take."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from inspected_servers import certificate, inspected
from known_ones import SUITES, known_driver, known_drivers, login
from tlstax.contract import TlsView
from tlstax.results.inspection import Asked, InspectedServer, Way, WhoConnects
from tlstax.stats.programs import all_programs
from tlstax.study.driver_catalogue import DRIVERS, speaking
from tlstax.study.product import Family
from tlstax.support.errors import UserMistake
from tlstax.topics.inspection import who_connects as module
from tlstax.topics.inspection.known_drivers import FILES, KnownDrivers
from tlstax.topics.inspection.known_drivers import known_drivers as shipped
from tlstax.topics.inspection.who_connects import kind_of, who_connects

VIEWS = {
    "TLS 1.2": ("TLSv1.2", "ECDHE-RSA-AES128-GCM-SHA256"),
    "TLS 1.3": ("TLSv1.3", "TLS_AES_128_GCM_SHA256"),
}
TAKEN = ("TLS 1.2", "TLS 1.3", "TLS_AES_128_GCM_SHA256", "ECDHE with AES-GCM", "P-256")
ALL = (*TAKEN, "TLS 1.0", "TLS 1.1", "TLS_AES_256_GCM_SHA384", "DHE", "RSA key exchange", "X25519")


LATER = "2029-01-01T00:00:00+00:00"
"""When the certificate has ended."""


def topic(name: str) -> str:
    if name.startswith("TLS 1"):
        return "version"
    return "group" if name in {"P-256", "X25519"} else "suite"


def asked(name: str, *, taken: bool, could_ask: bool = True, has_ecdhe: bool = True) -> Asked:
    suites = {"RSA key exchange": "AES128-GCM-SHA256", "DHE": "DHE-RSA-AES128-GCM-SHA256"}
    version, cipher = VIEWS.get(name, ("TLSv1.2", suites.get(name, "ECDHE-RSA-AES128-GCM-SHA256")))
    if name.startswith("TLS_"):
        version, cipher = "TLSv1.3", name
    if not has_ecdhe and version == "TLSv1.2":
        cipher = suites["RSA key exchange"]
    view = TlsView(version=version, cipher=cipher, resumed=False) if taken else None
    return Asked.model_validate(
        {"topic": topic(name), "name": name, "agreed": view, "could_ask": could_ask or taken}
    )


@dataclass(frozen=True)
class Seen:
    """A server, the name that it was asked by, and whether the machine that asked trusts who signed."""

    server: InspectedServer
    host: str = "db"
    is_known_authority: bool | None = False


def seen(*taken: str, unsure: tuple[str, ...] = (), key: str = "RSA 2048", **more: Any) -> Seen:
    """A server that takes these things, by default those of MySQL 9.7."""
    names = taken or TAKEN
    questions = tuple(
        asked(
            name,
            taken=name in names,
            could_ask=name not in unsure,
            has_ecdhe="ECDHE with AES-GCM" in names,
        )
        for name in ALL
    )
    server = inspected(chain=(certificate(key),)).model_copy(
        update={"asked": questions, "at": "2026-11-27T00:00:00+00:00"}
    )
    return otherwise(Seen(server), **{"requires_tls": False, **more})


WORDS = {"version": "version", "plugin": "account_plugin", "requires_tls": "requires_tls"}


def otherwise(was: Seen, **more: Any) -> Seen:
    """The same with something else seen of it."""
    word = was.server.word.model_copy(update={WORDS[name]: more.pop(name) for name in WORDS.keys() & more})
    own = {name: more.pop(name) for name in {"at", "offers_tls"} & more.keys()}
    return replace(was, server=was.server.model_copy(update={"word": word, **own}), **more)


def told_of(known: KnownDrivers, at: Seen) -> WhoConnects:
    return who_connects(known, at.server, host=at.host, is_known_authority=at.is_known_authority)


def told(server: Seen, **driver: Any) -> WhoConnects:
    return told_of(known_drivers(known_driver(**driver)), server)


def fate(way: Way) -> str:
    """What is told of the one driver."""
    if way.obstacles:
        (obstacle,) = way.obstacles
        return obstacle.at
    return "unknown" if way.unknown else "encrypted" if way.encrypted else "in clear"


def test_a_driver_of_today_connects_to_a_server_of_today() -> None:
    found = told(seen())
    assert (fate(found.by_default), fate(found.over_tls)) == ("encrypted", "encrypted")


DRIVER_LINES = Path(module.__file__).with_name("driver_lines.toml")

RSA_ALONE = ("TLS 1.2", "RSA key exchange")
MARIA = {"logins": (login("mariadb-11.8"),)}
ONLY_12 = {"mysql-9.7": ("TLS 1.2",)}
ECDHE_ALONE = tuple(suite for suite in SUITES if suite != "AES128-GCM-SHA256")


@pytest.mark.parametrize(
    ("server", "driver", "fails_at"),
    [
        (seen("TLS 1.0", "TLS 1.1", "RSA key exchange"), {}, "version"),
        (
            seen("TLS 1.3", "TLS_AES_128_GCM_SHA256", "P-256"),
            {"versions": {"mysql-9.7": ("TLS 1.2",)}},
            "version",
        ),
        (seen(*RSA_ALONE), {"cipher_suites": ECDHE_ALONE}, "suite"),
        (seen(*RSA_ALONE), {}, "encrypted"),
        (seen("TLS 1.3", "TLS_AES_256_GCM_SHA384", "P-256"), {"cipher_suites": SUITES[:1]}, "suite"),
        (seen(), {"groups": ("x25519",)}, "group"),
        (seen(unsure=("X25519",)), {"groups": ("x25519",)}, "unknown"),
        (seen("nothing"), {}, "unknown"),
        (seen(key="EC P-256"), {}, "encrypted"),
        (seen(key="EC P-384"), {}, "signature"),
        (seen(key="MLDSA65"), {}, "signature"),
        (seen(key="MLDSA65"), {"signatures": ("mldsa65",)}, "unknown"),
        (seen(key="MLDSA65", version="11.8.9-MariaDB"), MARIA | {"signatures": ("mldsa65",)}, "encrypted"),
        (
            seen("TLS 1.2", "ECDHE with AES-GCM", "P-256", key="MLDSA65"),
            {"signatures": ("mldsa65",)},
            "signature",
        ),
        (seen(key="Dilithium"), {}, "unknown"),
        (seen(key="RSA 1024"), {}, "key"),
        (seen(key="RSA 1024"), {"takes_rsa_1024": True}, "encrypted"),
        (seen(key="RSA 1024"), {"takes_rsa_1024": None}, "unknown"),
        (seen(key="RSA 512"), {"takes_rsa_1024": True}, "unknown"),
        (seen(key="RSA 1536"), {}, "unknown"),
        # A version that could not be asked for may be the one that both take.
        (seen("TLS 1.2", "ECDHE with AES-GCM", "P-256", unsure=("TLS 1.3",)), {}, "unknown"),
    ],
)
def test_a_handshake_fails_at_what_is_not_common(server: Seen, driver: dict[str, Any], fails_at: str) -> None:
    found = told(server, **driver)
    assert (fate(found.by_default), fate(found.over_tls)) == (fails_at, fails_at)


@pytest.mark.parametrize(
    ("suite", "kind"),
    [
        ("ECDHE-RSA-AES128-GCM-SHA256", ("ECDHE", "GCM")),
        ("ECDHE-ECDSA-AES256-SHA384", ("ECDHE", "CBC SHA384")),
        ("DHE-RSA-CHACHA20-POLY1305", ("DHE", "CHACHA20")),
        ("AES128-CCM", ("RSA key exchange", "CCM")),
        ("AES256-SHA", ("RSA key exchange", "CBC SHA")),
        ("ADH-AES128-SHA", ("another", "CBC SHA")),
        ("ECDH-RSA-AES128-SHA", ("another", "CBC SHA")),
        ("DHE-DSS-AES128-SHA256", ("another", "CBC SHA256")),
        ("0xC0AE", ("another", "CBC 0xC0AE")),
    ],
)
def test_a_suite_is_of_a_kind_by_how_keys_are_exchanged_and_data_encrypted(
    suite: str, kind: tuple[str, str]
) -> None:
    assert kind_of(suite) == kind


OLD_SERVER = ("TLS 1.2", "ECDHE with AES-GCM", "P-256")
OF_RSA, OF_ECDSA = ("ECDHE-RSA-AES256-GCM-SHA384",), ("ECDHE-ECDSA-AES256-GCM-SHA384",)


@pytest.mark.parametrize(
    ("key", "driver", "fails_at"),
    [
        # A suite of a kind that the server took is as good as one that it named.
        ("RSA 2048", {"cipher_suites": OF_RSA}, "encrypted"),
        ("RSA 2048", {"cipher_suites": OF_ECDSA}, "suite"),
        ("EC P-256", {"cipher_suites": OF_ECDSA}, "encrypted"),
        ("EC P-256", {"cipher_suites": OF_RSA}, "suite"),
        ("EC P-384", {}, "group"),
        ("Ed25519", {"cipher_suites": OF_ECDSA, "signatures": ("ed25519",)}, "encrypted"),
        ("Ed25519", {}, "signature"),
        # Before TLS 1.3, RSA also signs without PSS.
        ("RSA 2048", {"signatures": ("rsa_pkcs1_sha256",)}, "encrypted"),
        ("RSA-PSS 2048", {"signatures": ("rsa_pkcs1_sha256",)}, "signature"),
        ("RSA-PSS 2048", {"signatures": ("rsa_pss_pss_sha256",)}, "encrypted"),
        ("", {}, "unknown"),
    ],
)
def test_tls_1_2_takes_a_suite_for_the_servers_key_and_its_older_signatures(
    key: str, driver: dict[str, Any], fails_at: str
) -> None:
    assert fate(told(seen(*OLD_SERVER, key=key), **driver).over_tls) == fails_at


def test_a_group_that_was_seen_is_as_good_as_one_that_was_asked_for() -> None:
    found = seen(*TAKEN[:-1])
    (first, *others) = found.server.asked
    assert first.agreed is not None
    by_itself = first.model_copy(update={"agreed": first.agreed.model_copy(update={"group": "x25519"})})
    at = replace(found, server=found.server.model_copy(update={"asked": (by_itself, *others)}))
    assert fate(told(at, groups=("x25519",)).over_tls) == "encrypted"


def test_before_tls_1_2_nothing_is_said_of_signatures() -> None:
    older = seen("TLS 1.1", "ECDHE with AES-GCM", "P-256", key="EC P-384")
    assert fate(told(older, versions={"mysql-9.7": ("TLS 1.1",)}, signatures=()).over_tls) == "encrypted"


NATIVE = "mysql_native_password"


@pytest.mark.parametrize(
    ("server", "driver", "why"),
    [
        (seen("TLS 1.0", "TLS 1.1"), {}, "the server takes TLS 1.0 and TLS 1.1 alone"),
        (
            seen(*RSA_ALONE),
            {"cipher_suites": ECDHE_ALONE},
            "before TLS 1.3 the server takes RSA key exchange alone",
        ),
        (
            seen("TLS 1.3", "TLS_AES_256_GCM_SHA384", "P-256"),
            {"cipher_suites": SUITES[:1]},
            "of TLS 1.3 the server takes TLS_AES_256_GCM_SHA384 alone",
        ),
        (seen("TLS 1.3", "P-256"), {}, "of TLS 1.3 the server takes no suite alone"),
        (seen(), {"groups": ("x25519",)}, "the server takes P-256 alone"),
        (seen(*TAKEN[:-1]), {}, "the server takes no group alone"),
        (seen(*OLD_SERVER, key="EC P-384"), {}, "they know no curve of its key, EC P-384"),
        (seen(key="EC P-384"), {}, "they know no signature by a key of EC P-384"),
        (seen(key="RSA 1024"), {}, "a key of RSA 1024 is too short for them"),
        (seen(offers_tls=False), {}, "the server offers no TLS"),
        (seen(), {"can_require": False}, "they encrypt only when they are given an authority"),
        (seen(), {"verifies": ("authority",)}, "they verify the certificate, and do not know who signed it"),
        (
            seen(host="other.example"),
            {"verifies": ("host",)},
            "they verify the certificate, and it is not for other.example",
        ),
        (seen(at=LATER), {"verifies": ("expiry",)}, "they verify the certificate, and it has ended"),
        (
            seen(plugin=NATIVE),
            {"logins": (login(plugin=NATIVE, over_tls="no such plugin"),)},
            f"they do not log in by {NATIVE}",
        ),
    ],
)
def test_why_it_fails_over_tls_is_said(server: Seen, driver: dict[str, Any], why: str) -> None:
    (obstacle,) = told(server, **driver).over_tls.obstacles
    assert (obstacle.why, obstacle.drivers) == (why, ("driver-1",))


@pytest.mark.parametrize(
    ("server", "more", "why"),
    [
        (
            seen(requires_tls=True),
            {},
            "the server refuses connections in the clear, and they do not encrypt",
        ),
        (
            seen(),
            {"in_clear": "no plugin", "cold_in_clear": "no plugin"},
            "they do not log in by caching_sha2_password in the clear",
        ),
        (
            seen(),
            {"cold_in_clear": "no public key"},
            "nothing but an earlier login that the server remembers lets them in by caching_sha2_password in "
            "the clear",
        ),
    ],
)
def test_why_it_fails_in_the_clear_is_said(server: Seen, more: dict[str, Any], why: str) -> None:
    (obstacle,) = told(server, logins=(login(encrypts=False, **more),)).by_default.obstacles
    assert obstacle.why == why


def test_it_is_said_how_many_drivers_were_measured_and_when() -> None:
    found = told_of(known_drivers(known_driver("one-1"), known_driver("two-1")), seen())
    assert (found.drivers, found.measured_at) == (2, "2026-11-27")


def test_one_that_does_not_encrypt_connects_in_the_clear_or_is_refused() -> None:
    plain = {"logins": (login(encrypts=False),)}
    assert fate(told(seen(), **plain).by_default) == "in clear"
    assert fate(told(seen(requires_tls=True), **plain).by_default) == "plaintext"
    assert fate(told(seen(requires_tls=True), **plain).over_tls) == "encrypted"


def test_without_tls_all_go_in_the_clear() -> None:
    found = told(seen(offers_tls=False))
    assert (fate(found.by_default), fate(found.over_tls)) == ("in clear", "no TLS")
    assert found.changes == ()


@pytest.mark.parametrize(
    ("verifies", "changed", "fails_at"),
    [
        (("authority",), {}, "certificate"),
        (("authority",), {"is_known_authority": True}, "encrypted"),
        (("authority",), {"is_known_authority": None}, "unknown"),
        (("host",), {"host": "other.example"}, "certificate"),
        (("host",), {}, "encrypted"),
        (("host",), {"is_known_authority": None}, "encrypted"),
        (("expiry",), {"at": LATER}, "certificate"),
        ((), {"at": LATER, "host": "other.example"}, "encrypted"),
    ],
)
def test_a_certificate_is_refused_by_what_a_driver_verifies(
    verifies: tuple[str, ...], changed: dict[str, Any], fails_at: str
) -> None:
    server = otherwise(seen(), **changed)
    assert fate(told(server, verifies=verifies).over_tls) == fails_at
    assert fate(told(server, verifies=verifies).by_default) == "encrypted"
    assert fate(told(server, verifies_by_default=verifies).by_default) == fails_at


def test_a_server_that_proves_itself_by_the_password_needs_no_authority() -> None:
    own = {"verifies": ("authority", "host"), "logins": (login(takes_unknown=True),)}
    assert fate(told(seen(), **own).over_tls) == "encrypted"
    assert fate(told(seen(is_known_authority=True, host="other.example"), **own).over_tls) == "certificate"
    ended = seen(at=LATER)
    assert fate(told(ended, **own).over_tls) == "unknown"
    java = {"verifies": ("expiry",), "logins": (login(takes_unknown=True),)}
    assert fate(told(ended, **java).over_tls) == "certificate"


def test_the_servers_lines_are_left_out_where_they_mend_nothing() -> None:
    (obstacle,) = told(seen(), versions={"mysql-9.7": ()}).over_tls.obstacles
    assert (obstacle.at, obstacle.server, obstacle.says) == ("version", (), "")
    (only_13,) = told(seen("TLS 1.3", "TLS_AES_128_GCM_SHA256", "P-256"), versions=ONLY_12).over_tls.obstacles
    assert any("tls_version" in line for step in only_13.server for line in step.lines)
    assert only_13.says == "have it take TLS 1.2 and TLS 1.3"
    (short,) = told(seen(key="RSA 1024")).over_tls.obstacles
    assert (short.says, bool(short.server)) == ("a key of RSA 2048 or EC P-256", True)


def test_one_that_has_no_word_for_tls_alone_needs_an_authority() -> None:
    assert fate(told(seen(), can_require=False).over_tls) == "certificate"
    assert fate(told(seen(is_known_authority=True), can_require=False).over_tls) == "unknown"
    # Nothing but an authority brings it to TLS, whichever versions the server takes.
    assert fate(told(seen("TLS 1.0", "RSA key exchange"), can_require=False).over_tls) == "certificate"


def test_a_login_is_told_by_the_nearest_server_and_the_accounts_plugin() -> None:
    native = login("mysql-5.6", "mysql_native_password", encrypts=False, over_tls="no such plugin")
    logins = {"logins": (login(), native)}
    old = seen(version="8.0.33", plugin="mysql_native_password")
    assert fate(told(old, **logins).over_tls) == "login"
    refused = {"logins": (login("mysql-5.6", "mysql_native_password", over_tls="no such plugin"),)}
    assert fate(told(old, **refused).by_default) == "login"
    assert fate(told(seen(), **logins).over_tls) == "encrypted"
    assert fate(told(seen(plugin="sha256_password"), **logins).over_tls) == "unknown"
    assert fate(told(seen(version="11.8.9-MariaDB"), **logins).over_tls) == "unknown"
    assert fate(told(seen(plugin=None), **logins).over_tls) == "encrypted"
    clear = {"logins": (login(encrypts=False),)}
    assert fate(told(seen(), **clear).by_default) == "in clear"
    assert fate(told(seen(plugin=None), **clear).by_default) == "unknown"


def test_whether_it_encrypts_is_told_by_the_nearest_server() -> None:
    old = seen(version="5.5.34", plugin="mysql_native_password")
    assert fate(told(old).by_default) == "in clear"
    assert fate(told(seen(version="5.7.44", plugin="mysql_native_password")).by_default) == "in clear"
    assert fate(told(seen(version="10.0.0")).by_default) == "encrypted"
    # It was tried at no MariaDB, and encrypts there as it does elsewhere.
    assert fate(told(seen(version="11.8.9-MariaDB", plugin=None)).by_default) == "encrypted"


def test_in_the_clear_an_empty_cache_may_keep_it_out() -> None:
    cold = {"logins": (login(encrypts=False, cold_in_clear="no public key"),)}
    found = told(seen(), **cold).by_default
    assert fate(found) == "login"
    assert "remembers" in found.obstacles[0].why
    never = {"logins": (login(encrypts=False, in_clear="no plugin", cold_in_clear="no plugin"),)}
    assert "remembers" not in told(seen(), **never).by_default.obstacles[0].why
    # Over TLS it need not be remembered: what brings a driver to TLS mends that, where the server has it.
    pymysql = known_drivers(known_driver("pymysql-1.2", **cold))
    (with_tls,) = told_of(pymysql, seen()).by_default.obstacles
    assert (with_tls.at, bool(with_tls.client), with_tls.server) == ("login", True, ())
    (without,) = told_of(pymysql, seen(offers_tls=False)).by_default.obstacles
    assert (without.at, without.client) == ("login", ())
    assert without.server


def test_some_offer_by_the_version_that_the_server_says_it_has() -> None:
    offers = {"mysql-9.7": ("TLS 1.2", "TLS 1.3"), "mariadb-11.8": ("TLS 1.0",)}
    native = login("mariadb-11.8", "mysql_native_password")
    known = {"versions": offers, "logins": (login(), native)}
    assert fate(told(seen(), **known).over_tls) == "encrypted"
    maria = seen(version="10.5.23-MariaDB", plugin="mysql_native_password")
    assert fate(told(maria, **known).over_tls) == "version"


@pytest.mark.parametrize(
    ("version", "spoken"),
    [
        ("5.1.0", "TLS 1.0"),
        ("5.7.44", "TLS 1.0"),
        ("8.4.1", "TLS 1.2"),
        ("9.8.0", "TLS 1.3"),
        ("10.2.0", "TLS 1.1"),
    ],
)
def test_of_the_servers_no_newer_than_this_one_the_newest_tells_else_the_oldest(
    version: str, spoken: str
) -> None:
    speaks = {"mysql-5.6": "TLS 1.0", "mysql-8.0": "TLS 1.2", "mysql-9.7": "TLS 1.3", "mysql-10.1": "TLS 1.1"}
    known = known_drivers(known_driver(versions={name: (own,) for name, own in speaks.items()}))
    servers = {**known.servers, "mysql-10.1": "10.1.0"}
    server = seen(spoken, "TLS_AES_128_GCM_SHA256", "ECDHE with AES-GCM", "P-256", version=version)
    found = told_of(known.model_copy(update={"servers": servers}), server)
    assert fate(found.over_tls) == "encrypted"


def test_a_change_locks_out_those_who_can_connect_now() -> None:
    known = known_drivers(
        known_driver("new-1", signatures=("rsa_pss_rsae_sha256", "mldsa65")),
        known_driver("old-1", versions={"mysql-9.7": ("TLS 1.2",)}, cipher_suites=("AES128-GCM-SHA256",)),
        known_driver("out-1", versions={"mysql-9.7": ("TLS 1.0",)}),
    )
    found = told_of(known, seen(*TAKEN, "RSA key exchange"))
    assert {own.change: own.drivers for own in found.changes} == {
        "TLS 1.3 alone": ("old-1",),
        "no RSA key exchange": ("old-1",),
        "an ML-DSA certificate": ("old-1",),
    }
    assert [own.kept for own in found.changes] == [("new-1",), ("new-1",), ()]
    assert found.changes[-1].unknown == ("new-1",)
    assert [own.change for own in told_of(known, seen("TLS 1.2", "RSA key exchange")).changes] == [
        "no RSA key exchange"
    ]
    new = known_drivers(known_driver("new-1", signatures=("rsa_pss_rsae_sha256", "mldsa65"), **MARIA))
    only_13 = seen(*TAKEN[1:], version="11.8.9-MariaDB")
    (mldsa,) = told_of(new, only_13).changes
    assert (mldsa.change, mldsa.kept) == ("an ML-DSA certificate", ("new-1",))
    has_it = seen(*TAKEN, version="11.8.9-MariaDB", key="MLDSA65")
    assert [own.change for own in told_of(new, has_it).changes] == ["TLS 1.3 alone"]


@pytest.mark.parametrize("group", ["secp256r1", "x25519"])
def test_without_rsa_key_exchange_a_server_is_taken_to_have_ecdhe_with_usual_groups(group: str) -> None:
    known = known_drivers(known_driver("today-1", groups=(group,)))
    (without,) = told_of(known, seen(*RSA_ALONE)).changes
    assert (without.change, without.kept) == ("no RSA key exchange", ("today-1",))


def test_of_a_server_whose_certificate_was_not_seen_it_is_not_known_who_can_connect() -> None:
    was = seen()
    unseen = replace(was, server=was.server.model_copy(update={"chain": ()}))
    assert fate(told(unseen).over_tls) == "unknown"


def test_the_lines_are_for_the_drivers_that_need_them() -> None:
    go, rust = "go-sql-driver-1.9", "sqlx-0.8"
    known = known_drivers(*(known_driver(name, cipher_suites=ECDHE_ALONE) for name in (go, rust)))
    (obstacle,) = told_of(known, seen(*RSA_ALONE)).over_tls.obstacles
    assert obstacle.drivers == (go, rust)
    (step,) = obstacle.client
    assert step.where.startswith(f"{go}:")
    assert step.lines == ("GODEBUG=tlsrsakex=1",)
    assert obstacle.unmended == (rust,)
    assert any("ssl_cipher" in line for own in obstacle.server for line in own.lines)


def test_each_driver_has_its_own_lines() -> None:
    own = [known_driver(name, cipher_suites=ECDHE_ALONE) for name in ("go-sql-driver-1.9", "pymysql-1.2")]
    (obstacle,) = told_of(known_drivers(*own), seen(*RSA_ALONE)).over_tls.obstacles
    whose = dict.fromkeys(step.where.partition(":")[0] for step in obstacle.client)
    assert list(whose) == ["go-sql-driver-1.9", "pymysql-1.2"]
    assert obstacle.unmended == ()


def test_a_server_with_rsa_key_exchange_among_others_is_reached_by_it() -> None:
    own = known_driver("pymysql-1.2", cipher_suites=("DHE-RSA-AES128-GCM-SHA256",), versions=ONLY_12)
    (obstacle,) = told_of(known_drivers(own), seen(*OLD_SERVER, "RSA key exchange")).over_tls.obstacles
    assert (obstacle.at, bool(obstacle.client)) == ("suite", True)


def test_one_that_does_not_encrypt_is_told_how_where_the_server_demands_it() -> None:
    plain = known_driver("pymysql-1.2", logins=(login(encrypts=False),))
    (obstacle,) = told_of(known_drivers(plain), seen(requires_tls=True)).by_default.obstacles
    (step,) = obstacle.client
    assert step.where == "pymysql-1.2: the client's program"
    assert step.lines == (next(each for each in all_programs() if "pymysql-1.2" in each.drivers).verify,)


@pytest.mark.parametrize(
    ("taken", "driver", "lines"),
    [
        (("TLS 1.0",), "libmariadb-3.3", "MinProtocol = TLSv1"),
        (("TLS 1.0",), "libmariadb-3.4", None),
        (("TLS 1.0", "TLS 1.1"), "libmariadb-3.4", "OPENSSL_CONF=/path/to/openssl.cnf"),
        (("TLS 1.0",), "mariadb-connector-j-3.5", "enabledSslProtocolSuites=TLSv1"),
        (("TLS 1.1",), "mariadb-connector-j-3.5", "enabledSslProtocolSuites=TLSv1.1"),
        (("TLS 1.2", "RSA key exchange"), "pymysql-1.2", "context.set_ciphers('DEFAULT')"),
        (("TLS 1.3", "TLS_AES_128_GCM_SHA256", "P-256"), "libmariadb-3.3", None),
    ],
)
def test_old_servers_are_reached_by_lines_for_the_driver(
    taken: tuple[str, ...], driver: str, lines: str | None
) -> None:
    speaks = ("TLS 1.2",) if taken[0] != "TLS 1.2" else ("TLS 1.2", "TLS 1.3")
    own = known_driver(driver, versions={"mysql-9.7": speaks}, cipher_suites=ECDHE_ALONE)
    (obstacle,) = told_of(known_drivers(own), seen(*taken)).over_tls.obstacles
    said = [line for step in obstacle.client for line in step.lines]
    assert (lines in said) == (lines is not None)
    assert obstacle.unmended == (() if lines else (driver,))


def test_a_suite_that_the_server_has_not_is_not_offered_to_it() -> None:
    own = known_driver("pymysql-1.2", cipher_suites=("AES128-GCM-SHA256",), versions=ONLY_12)
    (obstacle,) = told_of(
        known_drivers(own), seen("TLS 1.2", "ECDHE with AES-GCM", "P-256")
    ).over_tls.obstacles
    assert (obstacle.at, obstacle.client, obstacle.unmended) == ("suite", (), ("pymysql-1.2",))


def test_every_driver_with_lines_is_known_and_every_step_is_there() -> None:
    table = tomllib.loads(DRIVER_LINES.read_text(encoding="utf-8"))
    assert {name for own in table["mended"] for name in own["drivers"]} <= set(DRIVERS)
    assert {name for own in table["mended"] for name in own["steps"]} == set(table["steps"])


@pytest.mark.parametrize("family", FILES)
def test_what_is_shipped_has_every_driver_and_the_servers_that_it_was_tried_at(family: Family) -> None:
    known = shipped(family)
    assert [driver.name for driver in known.drivers] == list(speaking(family))
    for driver in known.drivers:
        assert driver.logins, driver.name
        assert {own.server for own in driver.logins} <= set(known.servers)
        assert "127.0.0" not in driver.model_dump_json(), "words of one connection"
    file = resources.files(module.__package__ or "") / FILES[family]
    assert known.text() == file.read_text(encoding="utf-8"), "a new measurement would write the same file"


def test_one_driver_alone_may_be_asked_about() -> None:
    assert [own.name for own in shipped().only(["pymysql-1.2"]).drivers] == ["pymysql-1.2"]
    with pytest.raises(UserMistake, match=r"pymysql-1\.9"):
        shipped().only(["pymysql-1.9"])
    with pytest.raises(UserMistake, match=r"'pymysql-1\.2' at a server of this kind"):
        shipped("postgresql").only(["pymysql-1.2"])
