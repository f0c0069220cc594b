"""What is kept of PostgreSQL's drivers, read off a probe: by which word each fact is."""

from __future__ import annotations

from typing import Any

import pytest
from test_postgres_driver_tables import document, driver, word

from tlstax.records.capture import Conversation, Hello, TlsSeen, Traffic
from tlstax.support.errors import MachineFault
from tlstax.tools.probes.postgres_drivers.document import Attack, Met, OwnLogin, PostgresDriverRow, WordRow
from tlstax.tools.probes.postgres_drivers.driver_facts import known_from
from tlstax.topics.inspection.known_drivers import KnownDriver, KnownLogin

HELLO = Hello(
    versions=("TLSv1.3", "TLSv1.2"),
    cipher_suites=("TLS_AES_128_GCM_SHA256",),
    groups=("x25519",),
    key_shares=("x25519",),
    server_name=None,
    offers_session=False,
    signatures=("rsa_pss_rsae_sha256",),
)
PREFERS = ("encrypted", "encrypted", "encrypted", "encrypted", "in the clear")
IN_CLEAR = ("in the clear",) * 5
DEMANDS = ("encrypted", "encrypted", "encrypted", "encrypted", "refused")
VERIFIES = ("encrypted", "refused", "refused", "refused", "refused")


def shown(meaning: str, outcomes: tuple[Any, ...], **more: Any) -> WordRow:
    """A word, at whose first encrypted meeting the ClientHello was seen."""
    told = word(*outcomes, meaning=meaning, **more)
    tls = TlsSeen(
        hello=HELLO,
        version="TLSv1.3",
        cipher="x",
        group="x25519",
        hello_retry=False,
        resumed=False,
        finished=True,
    )
    talk = Conversation(
        tls=tls,
        statements=(),
        frames=(),
        traffic=Traffic(turns=9, bytes_sent=9, bytes_received=9),
        ended_by="client",
    )
    met = [own.model_copy(update={"conversations": (talk,)}) if is_tls(own) else own for own in told.met]
    return told.model_copy(update={"met": tuple(met)})


def is_tls(met: Met) -> bool:
    return met.outcome == "encrypted"


def known(*rows: PostgresDriverRow) -> KnownDriver:
    found = known_from(document(*rows), "2026-11-28", "Debian")
    assert (found.at, found.distribution, found.servers) == (
        "2026-11-28",
        "Debian",
        {"postgresql-18": "PostgreSQL 18.6"},
    )
    (own,) = found.drivers
    return own


LOGINS = (OwnLogin(over="clear", mechanism=None), OwnLogin(over="TLS", mechanism=None, words="no SCRAM"))
ATTACKS = (
    Attack(trick="md5", over="clear", gave="hash", ran=True),
    Attack(trick="md5", over="TLS", words="no MD5"),
    Attack(trick="clear password", over="clear", ran=True),
)


def test_each_fact_is_of_the_word_that_shows_it() -> None:
    own = known(
        driver(
            "libpq-18",
            shown("nothing", PREFERS, logins=LOGINS, attacks=ATTACKS, takes_any_certificate=True),
            shown("require", DEMANDS),
        )
    )
    assert own.versions == {"postgresql-18": ("TLS 1.2", "TLS 1.3")}
    assert (own.cipher_suites, own.groups, own.signatures) == (
        ("TLS_AES_128_GCM_SHA256",),
        ("x25519",),
        ("rsa_pss_rsae_sha256",),
    )
    assert (own.verifies, own.verifies_by_default) == ((), ())
    assert (own.can_require, own.demands_tls, own.takes_rsa_1024) == (True, False, None)
    # One of a password in the clear is not kept: over TLS it did not come to that.
    assert own.logins == (
        KnownLogin(server="postgresql-18", plugin="scram-sha-256", encrypts=True, over_tls="no SCRAM"),
        KnownLogin(server="postgresql-18", plugin="md5", encrypts=True, over_tls="no MD5"),
    )


def test_who_does_not_encrypt_by_itself_offers_what_its_other_words_show() -> None:
    words = (shown("nothing", IN_CLEAR), shown("require", DEMANDS), shown("system", VERIFIES))
    own = known(driver("node-pg-8", *words))
    assert own.groups == ("x25519",)
    # `ssl: true` is how its users require TLS.
    assert own.verifies == ("authority", "host", "expiry")
    assert own.verifies_by_default == ()


@pytest.mark.parametrize(
    ("outcomes", "demands", "verified"),
    [(DEMANDS, True, ()), (VERIFIES, True, ("authority", "host", "expiry")), (PREFERS, False, ())],
)
def test_what_it_does_with_nothing_said_is_of_that_word(
    outcomes: tuple[Any, ...], demands: bool, verified: tuple[str, ...]
) -> None:
    own = known(driver("lib-pq-1", shown("nothing", outcomes), shown("require", DEMANDS)))
    assert (own.demands_tls, own.verifies_by_default) == (demands, verified)


def test_a_certificate_that_is_refused_says_nothing_of_a_login() -> None:
    asked = (
        Attack(trick="clear password", over="clear", gave="password", ran=True),
        Attack(trick="clear password", over="TLS", words="invalid peer certificate"),
    )
    given = tuple(own.model_copy(update={"ran": True, "words": ""}) for own in asked)
    strict = shown("nothing", VERIFIES, attacks=asked, takes_any_certificate=False)
    lax = shown("require", DEMANDS, attacks=given, takes_any_certificate=True)
    (password,) = known(driver("tokio-postgres-0.7", strict, lax, shown("system", VERIFIES))).logins
    assert (password.plugin, password.in_clear, password.over_tls) == ("password", "", "")


def test_one_that_broke_off_is_not_kept() -> None:
    with pytest.raises(MachineFault, match="pgx-5: it did not start"):
        known(driver("pgx-5", failed="it did not start"))
