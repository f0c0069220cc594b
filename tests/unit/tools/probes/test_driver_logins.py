"""How a login is read off what crossed the wire, and how the table tells of it on any terminal."""

from __future__ import annotations

from typing import get_args

import pytest

from probed_drivers import asked, driver, gathered
from tlstax.records.capture import Conversation, Frame, Hello, Sender, TlsSeen, Traffic
from tlstax.tools.probes.drivers.driver_facts import known_login
from tlstax.tools.probes.drivers.logins import Trial, login_of, plain_words, way_over_tls
from tlstax.tools.probes.drivers.probe_reading import driver_row
from tlstax.tools.probes.drivers.probe_table import probe_text
from tlstax.tools.probes.drivers.probed import (
    Cache,
    DriverRow,
    Login,
    LoginOutcome,
    ProbeDocument,
    ProbedThere,
    Refusal,
    TlsAsked,
)
from tlstax.tools.probes.drivers.relays import WireLogin
from tlstax.topics.inspection.known_drivers import KnownLogin

CACHING = "caching_sha2_password"
NO_HELLO = Hello(
    versions=(), cipher_suites=(), groups=(), key_shares=(), server_name=None, offers_session=False
)


def over_tls(version: str, cipher: str, *frames: tuple[Sender, int]) -> Conversation:
    seen = TlsSeen(
        hello=NO_HELLO,
        version=version,
        cipher=cipher,
        group="secp256r1",
        hello_retry=False,
        resumed=False,
        finished=True,
    )
    return Conversation(
        tls=seen,
        statements=(),
        frames=tuple(Frame(sender=sender, what="", length=length, hex="") for sender, length in frames),
        traffic=Traffic(turns=9, bytes_sent=9, bytes_received=9),
        ended_by="client",
    )


TICKETS: tuple[tuple[Sender, int], ...] = (("server", 239), ("server", 239))
GCM, CHACHA, CBC = "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-CHACHA20-POLY1305", "ECDHE-RSA-AES128-SHA"


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        # As PyMySQL 1.2, go-sql-driver 1.9 and Connector/J 8.0.16 were seen at MySQL 9.7.4.
        (
            over_tls(
                "TLSv1.3",
                "TLS_AES_128_GCM_SHA256",
                ("client", 186),
                *TICKETS,
                ("server", 28),
                ("client", 59),
                ("server", 33),
            ),
            "full",
        ),
        (
            over_tls(
                "TLSv1.3",
                "TLS_AES_128_GCM_SHA256",
                ("client", 221),
                *TICKETS,
                ("server", 28),
                ("server", 33),
                ("client", 43),
            ),
            "fast",
        ),
        (over_tls("TLSv1.2", GCM, ("client", 262), ("server", 35), ("client", 66), ("server", 40)), "full"),
        (over_tls("TLSv1.2", GCM, ("client", 262), ("server", 35), ("server", 40), ("client", 934)), "fast"),
        (over_tls("TLSv1.2", CHACHA, ("client", 254), ("server", 27), ("client", 58)), "full"),
        # After a switch to the account's method.
        (
            over_tls(
                "TLSv1.2",
                GCM,
                ("client", 262),
                ("server", 77),
                ("client", 65),
                ("server", 35),
                ("server", 40),
                ("client", 66),
            ),
            "fast",
        ),
        # Padded, by another method, long after the login, and cut off.
        (over_tls("TLSv1.2", CBC, ("client", 262), ("server", 53), ("client", 66)), None),
        (over_tls("TLSv1.3", "", ("client", 186), *TICKETS, ("server", 33), ("client", 44)), None),
        (over_tls("TLSv1.3", "", *(("client", 44), ("server", 33)) * 4, ("server", 28), ("client", 9)), None),
        (over_tls("TLSv1.3", "", ("client", 186), *TICKETS, ("server", 28)), None),
    ],
)
def test_the_way_over_tls_is_told_by_who_speaks_after_the_verdict(
    seen: Conversation, expected: LoginOutcome | None
) -> None:
    assert way_over_tls(seen) == expected


IN_CLEAR = over_tls("", "").model_copy(update={"tls": None})


@pytest.mark.parametrize(
    ("trial", "cache", "outcome", "words"),
    [
        (
            Trial("", (), IN_CLEAR, WireLogin(over_tls=False, path="key asked for")),
            "cold",
            "key asked for",
            "",
        ),
        (Trial("", (), IN_CLEAR, WireLogin(over_tls=False, path="fast")), "warm", "fast", ""),
        (Trial("", (), IN_CLEAR, WireLogin(over_tls=False)), None, "yes", ""),
        (Trial("Go says: no key at 127.0.0.2:4711", (), IN_CLEAR), "cold", "refused", "no key at"),
        (
            Trial("Go says: EOF", (), IN_CLEAR, WireLogin(over_tls=False, ended="it was asked too much")),
            "warm",
            "ended",
            "it was asked too much",
        ),
    ],
)
def test_a_login_is_what_its_trial_showed(
    trial: Trial, cache: Cache | None, outcome: str, words: str
) -> None:
    found = login_of(CACHING, "off", cache, trial)
    assert (found.outcome, found.words) == (outcome, words)


def test_words_lose_what_differs_from_one_connection_to_the_next() -> None:
    first = plain_words("Connector/J says: (conn=17) denied at '127.0.0.2':4711")
    assert first == plain_words("Connector/J says: (conn=4) denied at '127.0.0.2':4000") == "denied at"
    assert len(plain_words("word " * 60)) <= 121


def login(tls: TlsAsked, cache: Cache | None, outcome: LoginOutcome, **more: str) -> Login:
    return Login.model_validate({"plugin": CACHING, "tls": tls, "cache": cache, "outcome": outcome, **more})


COLD_IN_CLEAR = "Public Key Retrieval is not allowed"
LOGINS = (
    login("off", "cold", "refused", words=COLD_IN_CLEAR),
    login("off", "warm", "fast"),
    login("verified", "cold", "full"),
    login("verified", "warm", "fast"),
)


def test_what_comes_with_tlstax_is_the_same_logins() -> None:
    """A refused way has its words, and only what was seen of a way is kept as one."""
    assert known_login("mysql-9.7", True, LOGINS, takes=True) == KnownLogin(
        server="mysql-9.7",
        plugin=CACHING,
        encrypts=True,
        cold_in_clear=COLD_IN_CLEAR,
        takes_unknown=True,
        paths={"in clear, warm": "fast", "over TLS, cold": "full", "over TLS, warm": "fast"},
    )
    native = tuple(
        Login(plugin="mysql_native_password", tls="off", cache=None, outcome="refused", words=words)
        for words in ("no such plugin",)
    )
    old = known_login("mysql-5.6.24", None, native, takes=False)
    assert (old.in_clear, old.over_tls, old.paths) == ("no such plugin", "no such plugin", {})


def probed(*logins: Login, name: str = "mysql-connector-python-9") -> DriverRow:
    jobs = (asked("unset", 1, encrypted=True), asked("off", 1))
    row = driver_row(driver(), gathered(*jobs, logins=logins))
    return row.model_copy(update={"name": name})


def document(*rows: DriverRow, external: ProbedThere | None = None) -> ProbeDocument:
    return ProbeDocument(
        status="complete",
        server="mysql-9.7",
        server_version="9.7.4",
        external=external,
        run=None,
        stopped_because="",
        drivers=rows,
    )


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_table_of_logins_fits_and_tells_all(width: int) -> None:
    native = login("off", None, "yes").model_copy(update={"plugin": "mysql_native_password"})
    text = probe_text(document(probed(*LOGINS), probed(native, name="b")), width=width, colour=False)
    flat = " ".join(text.split())
    _, _, of_logins = text.partition(f"Logging in by {CACHING}")
    assert max(map(len, of_logins.splitlines())) <= width
    assert "Logging in by mysql_native_password" in of_logins
    if width < 70:
        cells = "clear, cold: refused; clear, warm: fast; TLS, cold: full; TLS, warm: fast"
        assert f"mysql-connector-python-9: {cells}" in flat
    else:
        line = next(line for line in of_logins.splitlines() if line.startswith("mysql-connector-python-9"))
        assert line.split()[1:] == ["refused", "fast", "full", "fast"]
    assert f"in the clear with a cold cache it refuses to log in by {CACHING}: {COLD_IN_CLEAR}" in flat


def test_every_outcome_has_a_word() -> None:
    for outcome in get_args(LoginOutcome):
        assert outcome.split()[0] in probe_text(
            document(probed(login("off", "cold", outcome))), width=80, colour=False
        )


def test_of_an_external_server_only_what_was_tried_there_is_told() -> None:
    there = ProbedThere(plugin=CACHING, cache_when_found="warm", connections=7, not_seen=("Cold was not.",))
    jobs = [
        asked(tls, 1, encrypted=tls != "off").model_copy(update={"operations": 1})
        for tls in get_args(TlsAsked)
    ]
    logins = tuple(login(tls, "warm", "fast") for tls in ("unset", "off", "required"))
    row = driver_row(driver(), gathered(*jobs, logins=logins))
    assert row.resumes_by_default is None, "one connection has none before it"
    text = probe_text(document(row, external=there), width=80, colour=False)
    for told in ("by default", "TLS off", "required", "Cold was not.", "got 7 connections"):
        assert told in text
    for untold in ("Round trips", "of its own accord", "expired", "resumes", "Cold:"):
        assert untold not in text


def test_a_driver_that_was_ended_by_tlstax_is_not_said_to_refuse() -> None:
    refusal = Refusal(kind="server_closed", words="EOF")
    ended = asked("unset", 1, encrypted=True).model_copy(
        update={"ended": True, "refusal": refusal, "operations": 1}
    )
    why = "it does not verify"
    known = gathered(
        ended,
        asked("verified", 1, encrypted=True),
        logins=(login("unset", "warm", "ended", words=why),),
    )
    row = driver_row(driver(), known)
    assert row.encrypts_by_default is True
    assert row.groups_offered == ("x25519", "secp256r1")
    assert row.tls_version is None
    assert row.notes == (f"by default tlstax hung up: {why}",)
