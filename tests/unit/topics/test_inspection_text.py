"""An inspected server on a terminal: each topic a line, and what is unsafe below."""

from __future__ import annotations

from tlstax.contract import TlsView
from tlstax.results.inspection import (
    KEPT_BACK,
    Asked,
    Certificate,
    Concern,
    ConnectPhase,
    Inside,
    InspectedServer,
    LockedOut,
    Obstacle,
    Program,
    ServerWord,
    Step,
    Use,
    Way,
    WhoConnects,
)
from tlstax.topics.inspection.text import inspection_text

VIEW = TlsView(
    version="TLSv1.3", cipher="TLS_AES_256_GCM_SHA384", resumed=False, group="secp256r1", hello_retry=True
)


def asked(topic: str, name: str, *, taken: bool = True, could_ask: bool = True) -> Asked:
    fields = {"topic": topic, "name": name, "agreed": VIEW if taken else None, "could_ask": could_ask}
    return Asked.model_validate({**fields, "why_not": "" if taken else "handshake failure"})


USE = Use(
    over_s=7200.0,
    connects_per_s=12.0,
    statements_per_s=1200.0,
    statements_per_connect=100.0,
    tls_share=0.8,
    resumed_share=None,
    received_bytes_per_s=None,
    sent_bytes_per_s=None,
    aborted_connects_per_s=0.0,
)
PROGRAMS = tuple(
    Program(
        client="libmysql", version="9.7", program=f"app{n}", transport="SSL/TLS", tls=tls, connections=9 - n
    )
    for n, tls in enumerate(["TLSv1.3", *[""] * 6])
)


def phase(name: str, round_trips: float, median_us: float) -> ConnectPhase:
    return ConnectPhase(
        name=name,
        connects=8,
        round_trips=round_trips,
        sent_bytes=2020,
        received_bytes=3052,
        median_us=median_us,
    )


FOUND = InspectedServer(
    server="db.example:3306",
    at="2026-11-25T12:00:00+00:00",
    connections=28,
    word=ServerWord(
        version="9.7.4",
        tls_library="OpenSSL 3.6.0",
        account_plugin="caching_sha2_password",
        requires_tls=False,
        account_is_encrypted=True,
    ),
    offers_tls=True,
    asked=(
        asked("default", "a client left to itself"),
        asked("version", "TLS 1.1", taken=False),
        asked("version", "TLS 1.2"),
        asked("version", "TLS 1.3"),
        asked("group", "P-256"),
        asked("group", "X25519", taken=False),
        asked("group", "X25519MLKEM768", taken=False, could_ask=False),
        asked("resumption", "TLS 1.3", taken=False),
    ),
    connect=(phase("connect", 5, 46_200), phase("tls_handshake", 2, 18_400)),
    payments=(Concern(danger="costly", what="one thing", why="a round trip", remedy="the other"),),
    inside=Inside(since_start=USE, watched=None, programs=PROGRAMS, unread=("what is kept from it",)),
    chain=(
        Certificate(
            subject="CN=\x1b[2Jdb.example",
            issuer="CN=somebody",
            is_self_signed=False,
            key="RSA 2048",
            signature="SHA256",
            names=("db.example",),
            not_before="2026-01-01T00:00:00+00:00",
            not_after="2026-12-07T00:00:00+00:00",
            size_bytes=1234,
            sha256="00",
        ),
    ),
    concerns=(Concern(danger="soon unsafe", what="it ends", why="so", remedy="renew it"),),
    status="complete",
    stopped_because="",
)


def text_of(found: InspectedServer, width: int = 200, *, has_all_lines: bool = False) -> str:
    return inspection_text(found, width=width, colour=False, has_all_lines=has_all_lines)


def lines(found: InspectedServer) -> dict[str, str]:
    """What stands behind each name."""
    rows = (line.split("  ", 1) for line in text_of(found).split("\n") if "  " in line)
    return {name.strip(): words.strip() for name, words in rows}


def test_each_topic_is_a_line() -> None:
    shown = lines(FOUND)
    assert shown["Server"] == "9.7.4, its TLS by OpenSSL 3.6.0"
    assert shown["By default"] == (
        "TLS 1.3 · TLS_AES_256_GCM_SHA384 · P-256 · asked for a second ClientHello, which is one more round "
        "trip"
    )
    assert shown["Versions"] == "TLS 1.2 and TLS 1.3; not TLS 1.1"
    assert shown["Key exchange"] == (
        "P-256; not X25519; not asked, since the library here does not know it: X25519MLKEM768"
    )
    assert shown["Resumes"] == "none; not TLS 1.3"
    assert shown["Certificate"] == (
        "RSA 2048 for db.example, issued by CN=somebody, with SHA256, 1,234 bytes, until 2026-12-07"
    )
    assert (shown["Login"], shown["In the clear"]) == ("caching_sha2_password", "accepted")


def test_direct_tls_stands_in_place_of_resumption_where_it_was_asked_for() -> None:
    for taken, words in ((True, "accepted"), (False, "not accepted: handshake failure")):
        answer = asked("direct", "direct TLS", taken=taken)
        shown = lines(FOUND.model_copy(update={"asked": (answer,)}))
        assert shown["Direct TLS"] == words
        assert "Resumes" not in shown


def test_a_connect_has_its_round_trips_bytes_and_time() -> None:
    assert lines(FOUND)["A connect"] == (
        "5 round trips, 2,020 bytes sent and 3,052 received, 46.2 ms from here (median of 8); of it TLS 2 "
        "round trips and 18.4 ms"
    )
    text = text_of(FOUND)
    assert "What connects pay for\n•  one thing: a round trip\n   avoid it: the other\n" in text
    assert "What connects pay for" not in text_of(FOUND.model_copy(update={"payments": ()}))


def test_its_use_is_told_as_far_as_it_may_be_read() -> None:
    shown = lines(FOUND)
    assert shown["Since its start"] == (
        "12 connects/s, 1,200 statements/s, 100 a connection, 80 % of connections by TLS (over 2 h)"
    )
    assert shown["Connected now"] == "9 connections of app0 libmysql 9.7: TLSv1.3"
    assert "8 connections of app1 libmysql 9.7: SSL/TLS\n" in text_of(FOUND)
    assert "and 1 other kind\n" in text_of(FOUND)
    assert shown["Not readable"] == "what is kept from it"


def test_what_is_unsafe_stands_below_with_what_mends_it() -> None:
    text = text_of(FOUND)
    assert "Mend first\n•  soon unsafe: it ends: so\n   mend it: renew it\n" in text
    assert "Asked with 28 connections, one at a time." in text
    clean = FOUND.model_copy(update={"concerns": ()})
    assert "Nothing unsafe was seen." in text_of(clean)


def test_lines_to_paste_stand_once_and_whole() -> None:
    line = "ssl_cipher = " + ":".join(["ECDHE-ECDSA-AES128-GCM-SHA256"] * 9)
    steps = (Step(where="the server's my.cnf", lines=("[mysqld]", line)),)
    old = Concern(danger="unsafe", what="one", why="so", remedy="take suites, if any", steps=steps)
    new = old.model_copy(update={"what": "another", "remedy": "take others (or none)"})
    text = text_of(FOUND.model_copy(update={"concerns": (old, new)}), width=40)
    assert f"take suites and take others:\n   the server's my.cnf:\n       [mysqld]\n       {line}\n" in text
    assert text.count(line) == 1


def test_many_names_are_shortened() -> None:
    many = FOUND.chain[0].model_copy(update={"names": tuple(f"h{number}" for number in range(300))})
    shown = lines(FOUND.model_copy(update={"chain": (many,)}))
    assert "for h0, h1, h2 and 297 more, issued by" in shown["Certificate"]


def test_what_was_kept_back_is_not_called_unknown() -> None:
    kept = asked("version", "TLS 1.0", taken=False, could_ask=False).model_copy(update={"why_not": KEPT_BACK})
    shown = lines(FOUND.model_copy(update={"asked": (kept,)}))
    assert shown["Versions"] == f"none; not asked, since {KEPT_BACK}: TLS 1.0"


def test_a_server_without_tls_has_no_more_lines() -> None:
    names = list(lines(FOUND.model_copy(update={"offers_tls": False, "concerns": ()})))
    assert names[:3] == ["Server", "TLS", "Since its start"]
    assert "Versions" not in names


def test_one_that_was_cut_short_says_so_and_nothing_steers_the_terminal() -> None:
    cut = {"status": "failed", "stopped_because": "the server went away"}
    text = text_of(FOUND.model_copy(update=cut), width=40)
    assert "The rest was not asked: the server went away." in " ".join(text.split())
    assert max(map(len, text.split("\n"))) <= 40
    assert "\x1b" not in text


GO_LINE = Step(where="go-sql-driver-1.9: the client's environment", lines=("GODEBUG=tlsrsakex=1",))
SUITE = Obstacle(
    at="suite",
    drivers=("go-sql-driver-1.9", "sqlx-0.8"),
    why="before TLS 1.3 the server takes RSA key exchange alone",
    client=(GO_LINE,),
    unmended=("sqlx-0.8",),
)
LONG = SUITE.model_copy(
    update={"at": "version", "client": (Step(where="x: openssl.cnf", lines=("a", "b", "c", "d")),)}
)


def who(*obstacles: Obstacle, required: tuple[Obstacle, ...] = ()) -> InspectedServer:
    default = Way(encrypted=("a-1",), in_clear=("b-1", "b-2"), obstacles=obstacles)
    over_tls = Way(encrypted=("a-1",), in_clear=(), obstacles=required, unknown=("b-1", "b-2"))
    found = WhoConnects(
        measured_at="2026-11-27",
        drivers=5,
        by_default=default,
        over_tls=over_tls,
        changes=(
            LockedOut(change="TLS 1.3 alone", drivers=("b-1", "b-2"), kept=("a-1", "c-1")),
            LockedOut(change="no RSA key exchange", drivers=("b-1", "b-2"), kept=("a-1",)),
            LockedOut(change="an ML-DSA certificate", drivers=()),
        ),
    )
    return FOUND.model_copy(update={"who_connects": found})


def test_who_could_connect_is_counted_and_named() -> None:
    shown = text_of(who(SUITE, required=(SUITE,)), has_all_lines=True)
    assert "Who could connect, of 5 drivers measured on 27 November 2026" in shown
    assert "1 over TLS, 2 in the clear, 2 would fail" in shown
    assert "not known of b 1, 2" in shown
    assert "would lock out b 1, 2" in shown
    assert "would lock out 2, all but a 1" in shown
    assert "would lock out none that can connect now" in shown
    why = "either way: before TLS 1.3 the server takes RSA key exchange alone"
    assert shown.count(f"{why}: go-sql-driver 1.9 and sqlx 0.8") == 1
    assert "GODEBUG=tlsrsakex=1" in shown
    assert "at sqlx 0.8: nothing that mends it is known" in shown


MANY = tuple(f"connector-j-{number}" for number in range(7))


def test_what_mends_a_driver_is_printed_for_who_asks_for_it() -> None:
    found = who(LONG)
    short = text_of(found)
    assert "openssl.cnf" not in short
    assert "(-v: all lines)" in short
    full = text_of(found, has_all_lines=True)
    assert "openssl.cnf" in full
    assert "-v" not in full


def test_in_short_each_obstacle_is_a_point_with_some_of_its_drivers() -> None:
    found = who(SUITE.model_copy(update={"drivers": MANY}), required=(LONG,))
    assert found.who_connects is not None
    change = LockedOut(change="an ML-DSA certificate", drivers=MANY, unknown=MANY)
    found = found.model_copy(
        update={"who_connects": found.who_connects.model_copy(update={"changes": (change,)})}
    )
    short, full = text_of(found), text_of(found, has_all_lines=True)
    assert f"by default: {SUITE.why}: connector-j 0, 1, 2 and 4 more\n" in short
    assert f"TLS required: {LONG.why}: go-sql-driver 1.9 and sqlx 0.8\n" in short
    assert f"by default: {SUITE.why}: connector-j 0, 1, 2, 3, 4, 5, 6\n" in full
    assert "would lock out 7; not known of 7\n" in short
    assert "would lock out 7; not known of connector-j 0, 1, 2, 3, 4, 5, 6\n" in full


def test_it_fits_a_narrow_terminal() -> None:
    shown = text_of(who(SUITE, LONG), width=50, has_all_lines=True)
    part = shown[shown.index("Who could connect") :]
    assert max(map(len, part.splitlines())) <= 50
