"""From what a probe gathered of a driver to its row: exact counts and answers, no measurement.

Which statements a driver sends of its own accord, and when, is read from the server's log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from tlstax.contract import Frozen, TlsView
from tlstax.records.capture import Conversation, Logged, TlsSeen
from tlstax.study.driver_catalogue import Driver
from tlstax.support.text import counted, enumerated
from tlstax.tools.probes.drivers.probe_costs import DriverCosts
from tlstax.tools.probes.drivers.probed import (
    INSERT,
    Asked,
    Certificate,
    DriverRow,
    Gathered,
    TlsAsked,
    TlsShown,
    Way,
)

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
        return RoundTrips(None, None, f"{counted(fewer, 'turn')} with one statement, {more} with three")
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
        notes.append(f"the server counted {counted(asked.sessions_taken_up, 'session')} that it took up")
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


def _way(gathered: Gathered, tls: TlsAsked, costs: Way | None, notes: list[str]) -> Way:
    trips = round_trips(gathered.job(tls, ONE), gathered.job(tls, THREE))
    if trips.varies:
        notes.append(f"{WORDS[tls]} its round trips vary: {trips.varies}")
    refusal = gathered.refused(tls)
    way = costs or Way()
    return way.model_copy(
        update={
            "round_trips_per_connect": trips.per_connect,
            "round_trips_per_statement": trips.per_statement,
            "failed": refusal.words if refusal else way.failed,
        }
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


CONNECTED, LEFT = "Connect", "Quit"
"""The log's words for a login and for a goodbye; neither is a statement."""

_SAYS_IT = frozenset({"Query", "Execute"})
_WITH_TEXT = frozenset({"Query", "Prepare", "Init DB"})

_COMMANDS = {
    "Query": "COM_QUERY",
    "Init DB": "COM_INIT_DB",
    "Field List": "COM_FIELD_LIST",
    "Statistics": "COM_STATISTICS",
    "Change user": "COM_CHANGE_USER",
    "Prepare": "COM_STMT_PREPARE",
    "Execute": "COM_STMT_EXECUTE",
    "Long Data": "COM_STMT_SEND_LONG_DATA",
    "Close stmt": "COM_STMT_CLOSE",
    "Reset stmt": "COM_STMT_RESET",
    "Set option": "COM_SET_OPTION",
    "Fetch": "COM_STMT_FETCH",
    "Reset Connection": "COM_RESET_CONNECTION",
}
"""The log's words for a command and its name in the protocol (MySQL source, sql/sql_parse.cc)."""

_UNLOGGED = frozenset({"COM_PING", "COM_QUIT"})
"""What the log does not have (a ping), or has when the job is over (a goodbye)."""


class Sent(Frozen):
    """What a driver says beside what it was asked to say.

    What stands between two statements is said `before_each` or `after_each` of them, as the first and the
    last statement of a connection show. `commits` is whether the work ended with a COMMIT, which only a
    driver that turns autocommit off has to be given. `alike` is whether all connections were like the
    last one.
    """

    on_connect: tuple[str, ...]
    before_each: tuple[str, ...]
    after_each: tuple[str, ...]
    on_close: tuple[str, ...]
    commits: bool
    alike: bool


def sent(asked: Asked) -> Sent | None:
    """What was sent on the job's own connections; None where the log does not have them or all statements.

    The job asks at least two statements on each of its connections.
    """
    connections = [_read(lines, asked.statements) for lines in _own_connections(asked)]
    complete = [seen for seen in connections if seen is not None]
    if len(complete) < asked.operations or not complete:
        return None
    return complete[-1].model_copy(update={"alike": all(seen == complete[-1] for seen in complete)})


def disagreement(asked: Asked) -> str:
    """Where the log and what a tap read in the clear differ, in words; empty where they are the same."""
    if asked.capture is None:
        return "there was no tap"
    talks = asked.capture.conversations[-asked.operations :]
    logged = _own_connections(asked)
    if len(talks) != len(logged):
        return f"the tap saw {counted(len(talks), 'connection')}, the log has {len(logged)}"
    for talk, lines in zip(talks, logged, strict=True):
        wire = [(one.command, _plain(one.text)) for one in talk.statements if one.command not in _UNLOGGED]
        log = [(_protocol(one), _plain(one.text) if _has_text(one) else "") for one in _commands(lines)]
        wire = [(command, text if _carries(command) else "") for command, text in wire]
        for one, other in zip(wire, log, strict=False):
            if one != other:
                return f"the tap read {_words(one)} where the log has {_words(other)}"
        if len(wire) != len(log):
            return f"the tap read {counted(len(wire), 'command')} on a connection, the log has {len(log)}"
    return ""


def pings(asked: Asked) -> int:
    """How many pings crossed the wire in the clear on the job's last connection; the log has none of them."""
    talks = asked.capture.conversations if asked.capture is not None else ()
    return sum(statement.command == "COM_PING" for talk in talks[-1:] for statement in talk.statements)


def encrypted_by_log(asked: Asked) -> bool | None:
    """Whether the log calls all of the job's own connections encrypted; None where it does not say."""
    logins = [line.text for lines in _own_connections(asked) for line in lines if line.command == CONNECTED]
    if not logins or not all(" using " in text for text in logins):
        return None
    encrypted = {"SSL/TLS" in text for text in logins}
    return encrypted.pop() if len(encrypted) == 1 else None


def _own_connections(asked: Asked) -> list[list[Logged]]:
    """The lines of each connection that the job made for its work: the last ones that were let in."""
    threads: dict[int, list[Logged]] = {}
    for line in asked.log:
        threads.setdefault(line.thread, []).append(line)
    let_in = [lines for lines in threads.values() if any(line.command != CONNECTED for line in lines)]
    return let_in[-asked.operations :]


def _read(lines: Sequence[Logged], statements: int) -> Sent | None:
    """What was said around the statements of one connection; None where they are not all there."""
    said = _commands(lines)
    places = [place for place, line in enumerate(said) if line.command in _SAYS_IT and _is_ours(line)]
    if len(places) != statements or statements < 2:
        return None
    gaps = [_own(said[a + 1 : b]) for a, b in pairwise(places)]
    first, last = _own(said[: places[0]]), _own(said[places[-1] + 1 :])
    between = gaps[-1]
    alike = all(gap == between for gap in gaps)
    before = between if between and first[-len(between) :] == between else ()
    after = between if between and not before and last[: len(between)] == between else ()
    if between and not before and not after:
        before, alike = between, False
    elif before:
        first = first[: -len(between)]
    closing = last[len(after) :]
    commits = bool(closing) and closing[0].lower() == "commit"
    return Sent(
        on_connect=first,
        before_each=before,
        after_each=after,
        on_close=closing[1:] if commits else closing,
        commits=commits,
        alike=alike,
    )


def _commands(lines: Sequence[Logged]) -> list[Logged]:
    return [line for line in lines if line.command not in {CONNECTED, LEFT}]


def _own(lines: Sequence[Logged]) -> tuple[str, ...]:
    """The driver's own among them, in words: a statement by its text, another command by its name too."""
    return tuple(_as_words(line) for line in lines if not (line.command == "Prepare" and _is_ours(line)))


def _as_words(line: Logged) -> str:
    if line.command == "Query":
        return _plain(line.text)
    return f"({line.command}) {_plain(line.text)}".rstrip()


def _is_ours(line: Logged) -> bool:
    return INSERT.split("(")[0].strip().lower() in _plain(line.text).lower()


def _plain(text: str) -> str:
    """A statement with blanks for all white space and without what ends it, which the log leaves out."""
    return " ".join(text.split()).rstrip("; \0")


def _protocol(line: Logged) -> str:
    return _COMMANDS.get(line.command, line.command)


def _has_text(line: Logged) -> bool:
    return line.command in _WITH_TEXT


def _carries(command: str) -> bool:
    """Whether a tap can read the text of that command as the log has it."""
    return command in {_COMMANDS[word] for word in _WITH_TEXT}


def _words(command: tuple[str, str]) -> str:
    name, text = command
    return f"{name} {text[:60]!r}" if text else name
