"""Proof of treatment: a trial was done as its case says, both sides counted alike, and the work was right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tlstax.checks.complete import Complete, Doubt
from tlstax.checks.handshakes import missed
from tlstax.checks.server_errors import sqlstate_number
from tlstax.contract import Counts, ErrorCount, Handshakes, PostgreSqlServer, TlsView
from tlstax.records.server_counts import WORDS, Count, in_words
from tlstax.study import tls_levels, workloads
from tlstax.study.client_kinds import kind_of
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import DIRECT, DIRECT_TLS, GROUP_LISTS, GROUPS, UNSET
from tlstax.study.product import product_of
from tlstax.support.text import counted, was

_VERSION_NAMES = {"1.0": "TLSv1", "1.1": "TLSv1.1", "1.2": "TLSv1.2", "1.3": "TLSv1.3", DIRECT_TLS: "TLSv1.3"}
"""Levels of the factor `tls` as OpenSSL and the servers print them."""

SLOW_LOGINS = ("full_tls", "full_rsa", "full_socket")
"""Ways of caching_sha2_password that hash the password anew; a warm account takes the fast one."""

MOST_ERRORS = 0.01
"""Share of failed operations above which a trial says more about failures than about its case."""

CONFLICTS = frozenset({1020, 1205, 1213, *map(sqlstate_number, ("40001", "40P01", "23505"))})
"""Errors by which a server undoes one of two transactions that want the same rows: changed since it was read
(MariaDB's snapshot isolation), waited too long, deadlock; of PostgreSQL a failed serialization, a deadlock,
and a row that another transaction has put back first. They belong to such a load: sysbench 1.0.20 goes on
after the same three of MySQL's (--mysql-ignore-errors)."""

NOT_STARTED = (
    "some operations were due and never started, because the rate is more than was served: latencies are at "
    "least what is shown"
)


def encryption(trial: Complete) -> Iterator[Doubt]:
    """Both sides say that the asked connections are encrypted, or not, as the case has it.

    Where it leaves that to the driver, both only have to say the same. A client that does not report it is
    not believed: what remains is the server's word.
    """
    wanted, at_server = trial.case.tls, tls_levels.tls_at_server(trial.case)
    if not trial.ready.negotiated and trial.server.connections is None and trial.server.logged is None:
        yield from _not_asked(trial)
    for seen in trial.ready.negotiated:
        if seen.client_tells:
            yield from _view_disagrees("client", seen.client, wanted)
        yield from _view_disagrees("server", seen.server, at_server)
        if wanted == UNSET and seen.client_tells and (seen.client is None) != (seen.server is None):
            yield Doubt("invalid", "client and server do not agree on whether a connection is encrypted")
        if seen.client is not None and seen.server is not None and tls_levels.is_of_client(trial.case):
            ours = (seen.client.version, seen.client.cipher)
            theirs = (seen.server.version, registered_suite(seen.server.cipher))
            if ours != theirs:
                yield Doubt("invalid", f"the client negotiated {ours} where the server says {theirs}")
    for handshakes in trial.done.lifetime.handshakes:
        if wanted == "off":
            yield Doubt(
                "invalid",
                f"{counted(handshakes.count, 'TLS handshake')} {was(handshakes.count)} made where there must "
                "be none",
            )
        elif handshakes.version != _VERSION_NAMES.get(wanted, handshakes.version):
            yield Doubt(
                "invalid", f"{counted(handshakes.count, 'handshake')} negotiated {handshakes.version}"
            )


def _not_asked(trial: Complete) -> Iterator[Doubt]:
    """Of a client that asks nothing it is enough that the server counts handshakes and accepts one version.

    `server_counts` sees that it counted one for each connection, or none.
    """
    kind, wanted, accepted = kind_of(trial.case.client), trial.case.tls, trial.server.tls_versions
    if not kind.is_silent_at(product_of(trial.server.version)) or trial.server.counted("handshakes") is None:
        yield Doubt("unknown", "no connection was asked what it had negotiated")
    elif wanted != "off" and accepted != _VERSION_NAMES.get(wanted):
        yield Doubt(
            "unknown",
            f"{kind.name} asks no connection what it has negotiated, and the server accepts "
            f"{accepted or 'versions that it does not report'}, not {wanted} alone",
        )


def is_of_level(version: str, level: str) -> bool:
    """Whether a TLS version, as OpenSSL and the servers print it, is the one that a level of `tls` names."""
    return version == _VERSION_NAMES.get(level, version)


def registered_suite(cipher: str) -> str:
    """A TLS 1.3 cipher suite under its name in RFC 8446, appendix B.4, where wolfSSL has one of its own.

    wolfSSL's names begin with "TLS13-" and write AES128 for AES_128; all other names are given back as they
    are.
    """
    if not cipher.startswith("TLS13-"):
        return cipher
    return re.sub(r"AES(\d+)", r"AES_\1", cipher.replace("TLS13-", "TLS_")).replace("-", "_")


def _view_disagrees(side: str, view: TlsView | None, wanted: str) -> Iterator[Doubt]:
    if wanted == UNSET:
        return
    if wanted == "off" and view is not None:
        yield Doubt("invalid", f"the {side} says {view.version} where the case is plaintext")
    elif wanted != "off" and view is None:
        yield Doubt("invalid", f"the {side} says that the connection is not encrypted")
    elif view is not None and view.version != _VERSION_NAMES.get(wanted, view.version):
        yield Doubt("invalid", f"the {side} says {view.version} where the case is TLS {wanted}")


def key_exchange(trial: Complete) -> Iterator[Doubt]:
    """Every key exchange was in the group that the case names. One resumed in TLS 1.2 has none.

    Of a list that is the first, for which the client sent its key share; so no server that took it may have
    asked for a second ClientHello (RFC 8446, section 4.1.4).
    """
    level = trial.case.group
    is_list = level in GROUP_LISTS
    wanted = GROUPS.get(GROUP_LISTS[level].partition(":")[0] if is_list else level)
    if wanted is None:
        return
    for handshakes in trial.done.lifetime.handshakes:
        if handshakes.group not in {wanted, None}:
            first = ", the first that was offered" if is_list else ""
            yield Doubt(
                "invalid",
                f"{counted(handshakes.count, 'handshake')} used {handshakes.group}, not {wanted}{first}",
            )
        elif is_list and handshakes.group and handshakes.hello_retry:
            yield Doubt(
                "invalid",
                f"{counted(handshakes.count, 'handshake')} met a HelloRetryRequest, though {wanted} was "
                "taken, for which the client had sent its key share",
            )


def cipher(trial: Complete) -> Iterator[Doubt]:
    """Every handshake agreed on the cipher suite that the case names, and so says the client when asked."""
    wanted = trial.case.cipher
    if wanted == "default":
        return
    for handshakes in trial.done.lifetime.handshakes:
        if handshakes.cipher != wanted:
            yield Doubt(
                "invalid",
                f"{counted(handshakes.count, 'handshake')} agreed on {handshakes.cipher}, not {wanted}",
            )
    for seen in trial.ready.negotiated:
        if seen.client is not None and registered_suite(seen.client.cipher) != wanted:
            yield Doubt("invalid", f"the client says {seen.client.cipher} where the case is {wanted}")


def resumption(trial: Complete) -> Iterator[Doubt]:
    """Handshakes are resumed exactly where the case says so."""
    resumed = _count(trial.done.lifetime.handshakes, resumed=True)
    if not trial.case.resumes:
        if resumed:
            yield Doubt(
                "invalid", f"{counted(resumed, 'handshake')} {was(resumed)} resumed where none may be"
            )
        return
    full_in_window = _count(trial.done.window.handshakes, resumed=False)
    if full_in_window:
        yield Doubt(
            "invalid",
            f"{counted(full_in_window, 'measured handshake')} {was(full_in_window)} full, not resumed",
        )
    for seen in trial.ready.negotiated:
        server = seen.server if tls_levels.is_of_client(trial.case) else None
        for side, view in (("client", seen.client), ("server", server)):
            if view is not None and view.resumed is False:
                yield Doubt("invalid", f"the {side} says that a connection had not been resumed")


def connected(trial: Complete) -> Iterator[Doubt]:
    """As many connections were opened as are to work, or more; `server_counts` has the server's count."""
    opened, wanted = trial.done.lifetime.connections, trial.case.connections
    if opened < wanted:
        yield Doubt(
            "invalid", f"the client opened {counted(opened, 'connection')}, where {wanted} are to work"
        )


def server_counts(trial: Complete) -> Iterator[Doubt]:
    """The server counted what the client counted: connections, handshakes, session cache hits.

    Drivers count no handshakes and may connect by themselves: `drivers` has what must hold for them.
    """
    if kind_of(trial.case.client).is_driver:
        return
    if trial.case.address != DIRECT:
        yield Doubt("note", _behind(trial))
        return
    made, counting = trial.alone, trial.server.counting
    if not trial.is_logged and "connections" not in counting.counters:
        yield Doubt(
            "note", f"{counting.silent} does not count connections: the client's word alone shows how many"
        )
    # A path that lends connections of its own has shown the client's by its own count (`paths.way`).
    uncounted = trial.case.path in tls_levels.POOLS or kind_of(trial.case.client).beside
    claims: dict[Count, int] = {} if uncounted else {"connections": made.connections}
    if not trial.is_logged:
        yield from _claimed_of_tls(trial, claims)
    for count, claimed in claims.items():
        yield from _counted_otherwise(trial, count, claimed)


def _claimed_of_tls(trial: Complete, claims: dict[Count, int]) -> Iterator[Doubt]:
    """Adds to the claims what the server must have counted of TLS; says what it does not count.

    A server whose log names each connection has shown more by that (`connections.logged`).
    """
    made, counting = trial.alone, trial.server.counting
    claims["handshakes"] = handshakes = handshakes_at_server(trial.case, made)
    if trial.server.connections is not None:
        # The client cannot report its handshakes: `connections.seen_at_server` has the server's word.
        del claims["handshakes"]
    elif "handshakes" not in counting.counters:
        if handshakes:
            yield Doubt(
                "note", f"{counting.silent} does not count handshakes: the client's word alone shows how many"
            )
    elif "session_lookups" not in counting.counters:
        if _count(made.handshakes, resumed=True):
            yield Doubt(
                "note",
                f"{counting.silent} does not count resumed sessions: the client's word alone shows them",
            )
    elif tls_levels.is_of_client(trial.case):
        claims["session_lookups"] = cache_hits(made.handshakes)


def _behind(trial: Complete) -> str:
    """What the server shows of connections that came by another address: its own leg, which we do not see."""
    shown = {seen.server.version if seen.server else "no TLS" for seen in trial.ready.negotiated}
    return (
        f"behind {trial.case.address} the server sees {' and '.join(sorted(shown)) or 'what is not known'}: "
        "what it counts is of that leg, and is not set against the client's"
    )


def _counted_otherwise(trial: Complete, count: Count, claimed: int) -> Iterator[Doubt]:
    counting, counted = trial.server.counting, trial.server.counted(count)
    if counted is None or counted == claimed:
        return
    if counting.fits(count, counted, claimed):
        yield Doubt("note", missed(counting, counted, claimed))
    elif trial.evidence.guest and counted > claimed:
        yield Doubt("note", "others used the server during the trial")
    else:
        seen = f"{in_words(counted, WORDS[count])} ({counting.name(count)})"
        yield Doubt("invalid", f"the server counted {seen}, the client {claimed}")


def handshakes_at_server(case: CaseLevels, made: Counts) -> int:
    """How many handshakes reached the server: the client's, or those of a path that ends or begins TLS.

    Such a path makes one for each connection, or none. Which of them it resumes is its own affair. A client
    that asks nothing does not count its own: it makes as many.
    """
    if tls_levels.is_of_client(case) and kind_of(case.client).asks:
        return sum(seen.count for seen in made.handshakes)
    return 0 if tls_levels.tls_at_server(case) == "off" else made.connections


def logins(trial: Complete) -> Iterator[Doubt]:
    """Measured logins took the fast path; a cold account would be measured otherwise.

    MySQL Router asks for the password itself where it ends a client's TLS: the server hashes nothing anew.
    """
    yield from _other_methods(trial)
    for way, count in trial.done.window.authentications.items():
        if way == "full_tls" and tls_levels.asks_for_passwords(trial.case):
            yield Doubt(
                "note",
                f"the path asked {counted(count, 'client')} for the password in full, over TLS",
            )
        elif way in SLOW_LOGINS:
            yield Doubt("invalid", f"{counted(count, 'measured login')} took the slow path ({way})")


def _other_methods(trial: Complete) -> Iterator[Doubt]:
    """Every login at PostgreSQL was by the case's method; at a private one by SCRAM where it has none."""
    job = trial.evidence.job
    if job is None or not isinstance(job.server, PostgreSqlServer):
        return
    wanted = job.server.require_auth
    if not wanted and trial.evidence.claim is not None and not trial.case.proves_client:
        wanted = ("scram-sha-256-plus", "scram-sha-256") if trial.case.is_encrypted else ("scram-sha-256",)
    for way, count in trial.done.lifetime.authentications.items():
        if wanted and way not in wanted:
            yield Doubt(
                "invalid",
                f"{counted(count, 'login')} {was(count)} by {way}, where all are to be by {wanted[0]}",
            )


def begun(trial: Complete) -> Iterator[Doubt]:
    """TLS began as the case has it: at once, or after the client's question and the server's answer.

    At an external server it may begin at once in every case, as the client was told to then. The client's own
    conversation shows it on connections that it made while it was measured: the question costs a round trip
    before the handshake (`greeting`), which TLS begun at once does not have.
    """
    job, greeting = trial.evidence.job, trial.done.phase_wire.get("greeting")
    made = trial.done.phase_wire.get("tls_handshake")
    if job is None or not isinstance(job.server, PostgreSqlServer) or made is None:
        return
    asked = 0 if greeting is None else greeting.round_trips
    told = trial.evidence.claim is None and job.server.ssl_negotiation == "direct"
    at_once = trial.case.tls == DIRECT_TLS or told
    if at_once and asked:
        yield Doubt("invalid", f"{counted(asked, 'connection')} asked for TLS, where it was to begin at once")
    elif not at_once and asked < made.times:
        yield Doubt(
            "invalid",
            f"{counted(made.times - asked, 'connection')} did not ask for TLS, where it was to be asked for",
        )


def work(trial: Complete) -> Iterator[Doubt]:
    """Work was done, the rows were the server's, and errors were few."""
    done = trial.done
    met = sum(error.count for error in done.errors if error.code in CONFLICTS)
    failed = sum(error.count for error in done.errors) - met
    if done.operations == 0 and not failed:
        yield Doubt("invalid", "no operation was finished")
    if failed > MOST_ERRORS * (failed + done.operations):
        kinds = ", ".join(
            sorted({_words(error, trial) for error in done.errors if error.code not in CONFLICTS})
        )
        yield Doubt(
            "invalid", f"{failed} of {counted(failed + done.operations, 'operation')} failed ({kinds})"
        )
    elif failed:
        yield Doubt("note", f"{counted(failed, 'operation')} failed")
    if met:
        yield Doubt("note", f"the server rolled back {counted(met, 'operation')} that conflicted with others")
    if done.skipped:
        yield Doubt("note", NOT_STARTED)
    if trial.evidence.row_mismatches:
        # A user's own statement may ask for what is another every time, such as NOW().
        weight = "invalid" if workloads.is_built_in(trial.case.workload) else "note"
        yield Doubt(weight, f"rows differ from the server's: {trial.evidence.row_mismatches[0]}")
    shows_rows = kind_of(trial.case.client).asks and trial.server.connections is None
    if not done.row_samples and shows_rows and _returns_rows(trial):
        yield from _without_samples(trial)


def _words(error: ErrorCount, trial: Complete) -> str:
    """What the client said of such an error; its kind and its number, if any, where it said nothing."""
    for told in trial.evidence.client_errors:
        if (told.kind, told.code) == (error.kind, error.code):
            return told.message
    return error.kind if error.code is None else f"{error.kind} {error.code}"


_KEPT_ARE: Final = ": those of one statement are, at most 20,000 (a; b are two)"
"""What the engine keeps of an answer, for who wrote the statements."""


def _without_samples(trial: Complete) -> Iterator[Doubt]:
    """A client keeps no result that is too large for it; then the bytes that came say that it was whole."""
    asked = workloads.by_numbers(trial.case.workload)
    if not isinstance(asked, workloads.Rows) or not asked.is_too_large_to_keep:
        own = "" if workloads.is_built_in(trial.case.workload) else _KEPT_ARE
        yield Doubt("unknown", f"no row was kept to be checked at the server{own}")
        return
    came, wanted = _bytes_that_came(trial), asked.rows * asked.row_bytes * trial.done.operations
    if came is None:
        yield Doubt("unknown", "results were too large to be kept, and how many bytes came is not known")
    elif came < wanted:
        yield Doubt("invalid", f"{came:,} bytes came, fewer than the {wanted:,} of the rows asked for")
    else:
        yield Doubt(
            "note", "results were too large to be kept and checked; as many bytes came as were asked for"
        )


def _bytes_that_came(trial: Complete) -> int | None:
    """What the client received, as it was before compression; None where that is not known."""
    done = trial.done
    if done.compression is not None:
        return done.compression.plain_received
    return done.wire.bytes_received if done.wire is not None else None


def _returns_rows(trial: Complete) -> bool:
    """Whether every operation gives rows that are there for the laboratory to ask for again."""
    job = trial.evidence.job
    return job is None or (workloads.returns_rows(job.workload) and not workloads.writes(job.workload))


def cache_hits(handshakes: tuple[Handshakes, ...]) -> int:
    """How often the server must have found a session: once for each ClientHello that offers one.

    A HelloRetryRequest makes the client say hello a second time with the same session (RFC 8446,
    section 4.1.2), and OpenSSL, whose counter the servers show (SSL_CTX_sess_hits(3)), looks it up again.
    """
    return sum(seen.count * (2 if seen.hello_retry else 1) for seen in handshakes if seen.resumed)


def _count(handshakes: tuple[Handshakes, ...], *, resumed: bool) -> int:
    return sum(seen.count for seen in handshakes if seen.resumed == resumed)
