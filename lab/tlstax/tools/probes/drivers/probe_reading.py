"""From what a probe gathered of a driver to its row: exact counts and answers, no measurement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tlstax.contract import TlsView
from tlstax.records.capture import Conversation, TlsSeen
from tlstax.study.driver_catalogue import Driver
from tlstax.support.text import enumerated
from tlstax.tools.probes.drivers.attacked import TlsAsked
from tlstax.tools.probes.drivers.probe_costs import DriverCosts, WayCosts
from tlstax.tools.probes.drivers.probe_document import DriverRow, TlsShown, Way
from tlstax.tools.probes.drivers.probed import Asked, Certificate, Gathered
from tlstax.tools.probes.drivers.statements_sent import disagreement, encrypted_by_log, pings, sent

ONE, THREE = 1, 3
"""How many statements the two jobs of a kind have: what they differ by are the statements' round trips."""

TCP_CONNECT = 1
"""The round trip of a connection that a tap has no turn for (contract/README.md, `phase_wire`)."""


class RoundTrips(NamedTuple):
    """How often a driver waits for the server; None where that differs from connection to connection."""

    per_connect: int | None
    per_statement: int | None
    varies: str = ""


def driver_row(driver: Driver, gathered: Gathered, costs: DriverCosts | None = None) -> DriverRow:
    """The row of a driver; what could not be determined is None, and is in its notes or in `failed`."""
    notes: list[str] = []
    known: dict[str, Any] = {
        "name": gathered.name,
        "product": driver.product,
        "version": driver.version,
        "language": driver.language,
        "server": gathered.server,
        "auth": gathered.auth,
        "options": gathered.options,
        "failed": gathered.failed,
        "failed_as": gathered.failed_as,
        "certificates": gathered.tried,
        "logins": gathered.logins,
        "attacks": gathered.attacks,
    }
    ready = next((one.ready for one in gathered.asked if one.ready is not None), None)
    if ready is not None:
        known["client_version"] = ready.client_version
    verified_by: list[str] = []
    known |= _tls(gathered, verified_by, notes)
    known |= _verification(gathered, known.get("encrypts_by_default"), verified_by, notes)
    known |= _statements(gathered, verified_by, notes)
    known |= _ways(gathered, known.get("encrypts_by_default"), costs, notes)
    notes += [*gathered.remarks, *_refused_logins(gathered)]
    if gathered.verified not in {None, "identity"}:
        checks = "the authority alone" if gathered.verified == "ca" else "nothing"
        notes.append(f"told to verify the host, it failed; encrypted it was told to verify {checks}")
    if gathered.auth != "default":
        notes.append(f"logs in with {gathered.auth}, and not with what the server has by default")
    return DriverRow.model_validate({**known, "verified_by": tuple(verified_by), "notes": tuple(notes)})


def round_trips(one: Asked | None, three: Asked | None) -> RoundTrips:
    """Of a connect and of a statement, from two jobs that differ in the number of statements alone.

    Where the driver leaves it to its user to commit, a COMMIT ends each connection's work; it is part of what
    a statement takes, and not of connecting.
    """
    turns = [_turns(asked) for asked in (one, three)]
    if not all(turns):
        return RoundTrips(None, None)
    for counts in turns:
        if len(set(counts)) > 1:
            return RoundTrips(None, None, f"from {min(counts)} to {max(counts)} turns on a connection")
    (fewer, *_), (more, *_) = turns
    per_statement, rest = divmod(more - fewer, THREE - ONE)
    if rest or per_statement < 0:
        return RoundTrips(None, None, f"{fewer} turns with one statement, {more} with three")
    said = sent(three) if three else None
    per_statement += 1 if said is not None and said.commits else 0
    return RoundTrips(TCP_CONNECT + fewer - per_statement, per_statement)


def tls_shown(asked: Asked | None) -> TlsShown | None:
    """What the job's connections offered and agreed on; None where they were not all encrypted."""
    seen = _handshakes(asked)
    if asked is None or not seen:
        return None
    last = seen[-1]
    # One connection alone has no earlier one that it could have resumed.
    resumed = {one.resumed for one in seen} if asked.operations > 1 else set()
    reported = _server_view(asked)
    return TlsShown(
        version=reported.version if reported else last.version,
        cipher=reported.cipher if reported else last.cipher,
        group=last.group,
        hello_retry=last.hello_retry,
        resumes=resumed.pop() if len(resumed) == 1 else None,
        versions_offered=last.hello.versions,
        groups_offered=last.hello.groups,
        key_shares=last.hello.key_shares,
    )


def encrypts(asked: Asked | None) -> bool | None:
    """Whether all of the job's own connections were encrypted, as a tap saw it; None where they differ."""
    talks = _conversations(asked)
    encrypted = {talk.tls is not None and talk.tls.finished for talk in talks}
    return encrypted.pop() if len(encrypted) == 1 else None


def _tls(gathered: Gathered, verified_by: list[str], notes: list[str]) -> dict[str, Any]:
    """What is so when nothing is said of TLS; where nothing is encrypted then, what is so when it must be."""
    asked = gathered.job("unset", ONE)
    known: dict[str, Any] = {"required": tls_shown(gathered.job("required", ONE))}
    refused = gathered.refused("required")
    if refused is not None and gathered.failed is None:
        notes.append(f"where TLS is required and nothing else said, it refuses: {refused.words}")
    if asked is None:
        known |= _before_it_was_ended(gathered)
        refusal = gathered.refused("unset")
        if refusal is not None and gathered.failed is None:
            notes.append(f"it cannot connect as it is by default: {refusal.words}")
        return known
    encrypted = encrypts(asked)
    known["encrypts_by_default"] = encrypted
    if encrypted is not None:
        verified_by.append("handshakes, or none, seen by a tap on the wire")
    _check_server(asked, encrypted, verified_by, notes)
    shown = tls_shown(asked)
    if not encrypted or shown is None:
        return known
    known |= shown.model_dump(exclude={"version", "resumes"})
    known |= {"tls_version": shown.version, "resumes_by_default": shown.resumes}
    if shown.resumes and asked.sessions_taken_up >= asked.operations:
        verified_by.append("Ssl_session_cache_hits of the server")
    elif shown.resumes:
        notes.append(f"the server counted {asked.sessions_taken_up} sessions that it took up")
    return known


def _before_it_was_ended(gathered: Gathered) -> dict[str, Any]:
    """Of a connection with nothing said of TLS that tlstax ended: whether it began TLS, and its offer."""
    job = next((job for job in gathered.asked if job.tls == "unset" and job.ended), None)
    talks = _conversations(job)
    if not talks:
        return {}
    tls = talks[-1].tls
    known: dict[str, Any] = {"encrypts_by_default": tls is not None}
    if tls is not None:
        hello = tls.hello
        known |= {
            "versions_offered": hello.versions,
            "groups_offered": hello.groups,
            "key_shares": hello.key_shares,
        }
    return known


def _check_server(asked: Asked, encrypted: bool | None, verified_by: list[str], notes: list[str]) -> None:
    """The server's own word for it: on a connection that the driver asked it on, and in its log."""
    views = [one.server for one in asked.ready.negotiated] if asked.ready is not None else []
    if views and {view is not None for view in views} == {encrypted}:
        verified_by.append("Ssl_version and Ssl_cipher, asked on a connection of its own")
    elif views and encrypted is not None:
        notes.append("the server's Ssl_version and the wire disagree about encryption")
    logged = encrypted_by_log(asked)
    if logged is not None and logged == encrypted:
        verified_by.append("logins in the server's log")
    elif logged is not None and encrypted is not None:
        notes.append("the server's log and the wire disagree about encryption")
    seen = _handshakes(asked)
    reported = _server_view(asked)
    if seen and reported and seen[-1].version != reported.version:
        notes.append(f"the wire shows {seen[-1].version}, and the server says {reported.version}")


def _verification(
    gathered: Gathered, encrypted: bool | None, verified_by: list[str], notes: list[str]
) -> dict[str, Any]:
    """Which wrong certificates the driver refused; one that refuses a right one too proves nothing."""
    known: dict[str, Any] = {}
    kinds: tuple[tuple[TlsAsked, str], ...] = (("unset", "by_default"), ("required", "when_required"))
    for tls, when in kinds:
        if tls == "unset" and not encrypted:
            continue
        outcomes = {one.certificate: one for one in gathered.tried if one.tls == tls}
        right = outcomes.get("right")
        if right is None:
            continue
        if not right.accepted:
            notes.append(f"it refuses a certificate that is in order: {right.words}")
            continue
        checks: tuple[tuple[str, Certificate], ...] = (
            ("ca", "unknown authority"),
            ("host", "other host"),
            ("expiry", "expired"),
        )
        for what, certificate in checks:
            tried = outcomes.get(certificate)
            if tried is not None:
                known[f"verifies_{what}_{when}"] = not tried.accepted
                if tried.accepted and tried.encrypted is False:
                    notes.append(f"{certificate}: it went on in the clear")
                    known[f"verifies_{what}_{when}"] = True
    if known:
        verified_by.append("wrong certificates that it took or refused")
    if gathered.why_not_tried:
        notes.append(gathered.why_not_tried)
    return known


def _statements(gathered: Gathered, verified_by: list[str], notes: list[str]) -> dict[str, Any]:
    """What it says of its own accord, by the server's log, checked against what a tap read in the clear."""
    by_default = gathered.job("unset", THREE) or gathered.job("off", THREE)
    statements = sent(by_default) if by_default else None
    if statements is None:
        if by_default is not None:
            notes.append("the server's log does not have all its statements")
        return {}
    verified_by.append("the server's general log")
    if not statements.alike:
        notes.append("its own statements differ from connection to connection; the last one's are shown")
    if statements.commits:
        notes.append(
            "it turns autocommit off: a statement is an insert and the COMMIT that its user has to say"
        )
    plain = gathered.job("off", THREE)
    if plain is not None:
        wrong = disagreement(plain)
        if wrong:
            notes.append(f"the server's log and the wire disagree: {wrong}")
        else:
            verified_by.append("the same statements, read on the wire in the clear")
        if number := pings(plain):
            notes.append(f"it also sends COM_PING, {number} on a connection with {THREE} statements")
    return {
        "statements_on_connect": statements.on_connect,
        "statements_before_each_statement": statements.before_each,
        "statements_after_each_statement": statements.after_each,
        "statements_on_close": statements.on_close,
    }


def _ways(
    gathered: Gathered, encrypted: bool | None, costs: DriverCosts | None, notes: list[str]
) -> dict[str, Any]:
    """Round trips and costs in the clear, encrypted, and as by default."""
    plain = _way(gathered, "off", costs.plain if costs else None, notes)
    secret = _way(gathered, "verified", costs.encrypted if costs else None, notes)
    trips = round_trips(gathered.job("unset", ONE), gathered.job("unset", THREE))
    if trips.varies:
        notes.append(f"by default its round trips vary: {trips.varies}")
    known: dict[str, Any] = {
        "plain": plain,
        "encrypted": secret,
        "round_trips_per_connect": trips.per_connect,
        "round_trips_per_statement": trips.per_statement,
    }
    if costs is not None:
        known |= {"steady": costs.steady, "warmup_s": costs.warmup_s}
        if costs.steady is False:
            notes.append("it was still becoming faster when it was measured, in some trials")
    if encrypted is not None:
        way = secret if encrypted else plain
        known["connect_us"] = way.connect_us.point if way.connect_us else None
        known["statement_us"] = way.statement_us.point if way.statement_us else None
    return known


def _way(gathered: Gathered, tls: TlsAsked, costs: WayCosts | None, notes: list[str]) -> Way:
    trips = round_trips(gathered.job(tls, ONE), gathered.job(tls, THREE))
    if trips.varies:
        notes.append(f"{WORDS[tls]} its round trips vary: {trips.varies}")
    refusal = gathered.refused(tls)
    why = refusal.words if refusal else costs.failed if costs else None
    return Way(
        round_trips_per_connect=trips.per_connect,
        round_trips_per_statement=trips.per_statement,
        connect_us=costs.connect_us if costs else None,
        statement_us=costs.statement_us if costs else None,
        connect_cpu_us=costs.connect_cpu_us if costs else None,
        statement_cpu_us=costs.statement_cpu_us if costs else None,
        failed=why,
    )


def _refused_logins(gathered: Gathered) -> Iterator[str]:
    """Why logins did not succeed, those for the same reason together; not what jobs were refused for too."""
    reasons: dict[str, list[str]] = {}
    for own in gathered.logins:
        if own.words and gathered.refused(own.tls) is None:
            cache = " with a cold cache" if own.cache == "cold" else ""
            who = "tlstax hung up" if own.outcome == "ended" else f"it refuses to log in by {own.plugin}"
            reasons.setdefault(f"{who}: {own.words}", []).append(f"{WORDS[own.tls]}{cache}")
    for reason, ways in reasons.items():
        yield f"{enumerated(ways)} {reason}"


WORDS: dict[TlsAsked, str] = {
    "unset": "by default",
    "off": "in the clear",
    "required": "where TLS is required",
    "verified": "encrypted",
}


def _conversations(asked: Asked | None) -> tuple[Conversation, ...]:
    """Those of the job's own connections; none where the tap has not kept them all."""
    if asked is None or asked.capture is None:
        return ()
    talks = asked.capture.conversations
    return talks[-asked.operations :] if len(talks) >= asked.operations else ()


def _turns(asked: Asked | None) -> list[int]:
    return [talk.traffic.turns for talk in _conversations(asked)]


def _handshakes(asked: Asked | None) -> list[TlsSeen]:
    """The handshakes of the job's own connections; none where one of them was not encrypted."""
    talks = _conversations(asked)
    handshakes = [talk.tls for talk in talks if talk.tls is not None and talk.tls.finished]
    return handshakes if len(handshakes) == len(talks) else []


def _server_view(asked: Asked) -> TlsView | None:
    views = asked.ready.negotiated if asked.ready is not None else ()
    return next((view.server for view in views if view.server is not None), None)
