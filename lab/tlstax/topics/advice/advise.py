"""What could be changed at a server, ranked by what that saves of it, and how each change is made. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, TypeAdapter

from tlstax.contract import Frozen
from tlstax.plan.advice_studies import ONE_GROUP
from tlstax.results.inspection import InspectedServer, Step, Use
from tlstax.results.interval import Interval
from tlstax.stats.programs import ProgramLines, connected
from tlstax.stats.programs import Topic as ProgramTopic
from tlstax.stats.remedies import Remedy, entry_for, reload_for
from tlstax.study.level_names import CERTIFICATES, SCRAM_ITERATIONS, key_of
from tlstax.study.mixes import CHEAPEST_KEY, P256
from tlstax.study.product import FIRST_WITH_GROUPS, Family, family_of, product_of, release_of
from tlstax.study.tls_levels import group_name
from tlstax.study.workloads.sized import FEW_STATEMENTS, MOST_BYTES, MOST_STATEMENTS
from tlstax.support.text import counted, duration, enumerated, integer
from tlstax.topics.advice.measured import NOT_MEASURED, Measured

ASSUMED_STATEMENTS, ASSUMED_BYTES = 10, 120
"""Of what is not known: a few small lookups, which is what is asked about most (docs/advising.md)."""

LEAST_CONNECTS, LEAST_CONNECTS_PER_S, LEAST_UPTIME_S = 20, 1.0, 600.0
"""Fewer connects in all say nothing of how clients use a server. Nor do fewer a second since its start, for
monitoring alone makes some, or a start that is not long ago."""

WORTH = 0.05
"""A change that saves less than this share of what the server spends on connections is not worth advising."""

ITSELF = "the server itself"
"""What CPU time was measured on that was measured there."""

LONG_CHAIN = 3
"""As many certificates as a server need not send: its own and the one between it and the root are enough."""

FAR_US = 1000.0
"""Clients whose TCP connection takes so long are at a distance, and pay for each round trip."""

MANY_ITERATIONS = 15_000
"""As often as RFC 7677 (section 4) would have a password hashed at the least; 4,096 is what it demands."""

SHORT_IDLE_MS = 60_000
"""Sessions that are closed after so short a pause are made anew by whoever pauses between two questions."""

CURVES = {P256: "prime256v1", "P-384": "secp384r1", "P-521": "secp521r1"}
"""Groups as PostgreSQL's settings spell them, where that differs."""

PROGRAMS = "clients"
ELSEWHERE: dict[Family, str] = {
    "mysql": "docs/advising.md has the line for each driver",
    "postgresql": "docs/advising-postgresql.md has the line for each driver",
}

Change = Literal[
    "pool",
    "certificate",
    "resumption",
    "group",
    "version",
    "chain",
    "compression",
    "groups",
    "direct",
    "login",
    "lookup",
    "idle",
    "delay",
]
"""What can be changed: connections kept, the server's key, sessions resumed, the clients' groups, the TLS
version, the certificates that are sent, the protocol's compression; of PostgreSQL also the server's groups,
that TLS begins at once, how often a login hashes the password, and settings by which each connection waits,
or more are made: clients' names looked up, idle sessions closed, a delay."""

Source = Literal["given", "watched", "since its start", "assumed"]

Measure = Literal["the server's CPU", "the time of a connection"]
"""What a change is measured by."""


class SeenUse(Frozen):
    """How clients use the server, and from where that is known. `connects_per_s` None: not known.

    `answer_bytes` is what a statement returns on average, as far as the server's own counters say.
    """

    connects_per_s: NonNegativeFloat | None
    statements: PositiveInt
    answer_bytes: PositiveInt
    source: Source


class Saving(Frozen):
    """What a change saves of one connection. None: that was not measured, or it is among `inconclusive`.

    `server_cpu_us` is of making the connection, `server_share` of what the server spends on it with all its
    statements; both were measured on `measured_on`, which is the server itself or the name of a private one.
    Where `is_computed`, both are of the connection with all its statements, and computed from what its parts
    cost there, as `predict` does. `time_us` was measured at the server itself, from here. `round_trips` and
    `bytes` were counted. `inconclusive` names what was measured and told nothing. `client_cpu_us` is of the
    client, computed from what hashing a password takes OpenSSL on this machine: drivers differ.
    """

    server_cpu_us: Interval | None = None
    server_share: Interval | None = None
    measured_on: str = ""
    is_computed: bool = False
    time_us: Interval | None = None
    round_trips: float = 0.0
    bytes: float = 0.0
    inconclusive: tuple[Measure, ...] = ()
    client_cpu_us: Interval | None = Field(default=None, exclude_if=lambda saved: saved is None)


class Advised(Frozen):
    """A change: what it is, what was seen that it mends, what it saves, and how it is done.

    `why_not` says why it is not advised; empty where it is.
    """

    change: Change
    what: str
    seen: str
    saving: Saving
    why_not: str
    steps: tuple[Step, ...]


class Advice(Frozen):
    """The document that `advise --json` prints.

    `changes` has all that could be changed, what saves most of the server first. `stand_in` is the private
    server on which the server's CPU time was measured, empty where there was none; `not_measured` says what
    could not be measured, and why. `spent_there` says what measuring took of the server.
    """

    schema_version: Literal[3] = Field(default=3, alias="schema")
    inspected: InspectedServer
    use: SeenUse
    changes: tuple[Advised, ...]
    stand_in: str
    runs: tuple[str, ...]
    connections_there: NonNegativeInt
    spent_there: str
    not_measured: tuple[str, ...]
    status: Literal["complete", "interrupted", "failed"]

    @property
    def advised(self) -> tuple[Advised, ...]:
        """The changes that are advised."""
        return tuple(own for own in self.changes if not own.why_not)


@dataclass(frozen=True)
class Now:
    """What clients left to themselves get: TLS version and key as levels, and what was seen of it.

    `certificate` is empty where no private server can have such a key. `resumes` says whether sessions of
    that version are resumed, None where that was not asked. `groups` are those that were asked for by name
    and taken, `group_option` the option by which a PostgreSQL takes just these, empty where they are its
    default; `direct` is whether TLS may begin at once there.
    """

    tls: str
    certificate: str
    key: str
    hello_retry: bool
    resumes: bool | None
    other_version: str | None
    groups: tuple[str, ...] = ()
    group_option: str = ""
    direct: bool = False


def now_of(found: InspectedServer) -> Now | None:
    """What a client gets; None where there is no TLS."""
    default = found.default
    if default is None:
        return None
    version = default.version.removeprefix("TLSv")
    key = found.chain[0].key if found.chain else ""
    resumed = next((own for own in found.of("resumption") if own.name == f"TLS {version}"), None)
    other = {"1.3": "1.2", "1.2": "1.3"}.get(version)
    offered = any(own.agreed for own in found.of("version") if own.name == f"TLS {other}")
    groups = tuple(own.name for own in found.of("group") if own.agreed)
    if default.hello_retry and default.group and not groups:
        # It takes none of those that were asked for by name, and so one that clients offer later.
        groups = (group_name(default.group),)
    return Now(
        tls=version,
        certificate=level_of(key),
        key=key,
        hello_retry=bool(default.hello_retry),
        resumes=None if resumed is None else resumed.agreed is not None,
        other_version=other if offered else None,
        groups=groups,
        group_option=_group_option(found.word.version, groups),
        direct=version == "1.3" and any(own.agreed for own in found.of("direct")),
    )


def _group_option(version: str, groups: Sequence[str]) -> str:
    """The option by which a PostgreSQL of this version takes these groups; empty where it needs none.

    By default 18 takes X25519 and P-256 (`ssl_groups`), and those before P-256 alone (`ssl_ecdh_curve`).
    """
    if product_of(version) != "postgresql" or not groups:
        return ""
    if release_of(version) >= FIRST_WITH_GROUPS:
        names = ":".join(CURVES.get(name, name) for name in groups)
        return "" if set(groups) == {"X25519", P256} else f"ssl_groups={names}"
    return "" if groups[0] == P256 else f"{ONE_GROUP}={CURVES.get(groups[0], groups[0])}"


def level_of(key: str) -> str:
    """The level of `certificate` that a key is, "RSA 4096" or "EC P-256"; empty where there is none."""
    level = re.sub(r"[ -]", "", key.lower()).replace("rsa", "rsa-").replace("ecp", "ec-p")
    return level if level in CERTIFICATES else ""


def use_of(
    found: InspectedServer, connects_per_s: float | None, statements: int | None, answer_bytes: int | None
) -> SeenUse:
    """How the server is used: as given, else as watched, else since its start, else as assumed."""
    source, seen = _seen(found.inside.watched, found.inside.since_start)
    per_connect = answer = None
    if seen is not None:
        per_connect = seen.statements_per_connect
        if seen.statements_per_s and seen.sent_bytes_per_s is not None:
            answer = seen.sent_bytes_per_s / seen.statements_per_s
    if statements is not None or connects_per_s is not None:
        source = "given"
    return SeenUse(
        connects_per_s=connects_per_s if connects_per_s is not None else seen and seen.connects_per_s,
        statements=statements or _within(per_connect, MOST_STATEMENTS) or ASSUMED_STATEMENTS,
        answer_bytes=answer_bytes or _within(answer, MOST_BYTES) or ASSUMED_BYTES,
        source=source,
    )


def _seen(watched: Use | None, since_start: Use | None) -> tuple[Source, Use | None]:
    """The use that enough connects tell of: what was watched before what is long ago."""
    if watched is not None and watched.connects_per_s * watched.over_s >= LEAST_CONNECTS:
        return "watched", watched
    is_long = since_start is not None and since_start.over_s >= LEAST_UPTIME_S
    if since_start is not None and is_long and since_start.connects_per_s >= LEAST_CONNECTS_PER_S:
        return "since its start", since_start
    return "assumed", None


def _within(value: float | None, most: int) -> int | None:
    return None if value is None or value <= 0 else min(most, max(1, round(value)))


@dataclass(frozen=True)
class Evidence:
    """What was measured: the server's CPU time on a private one, times at the server itself; None if not.

    `cpu_there` is its own CPU time, where its process was watched; `stand_in` names the private one.
    `without_compression` is computed from what the parts of connections to one like it cost, `hashing_us` is
    what the client's CPU spares where a login hashes the password no more often than by default.
    """

    like_it: Measured | None
    there: Measured | None
    cpu_there: Measured | None = None
    stand_in: str = ""
    without_compression: Saving | None = None
    hashing_us: Interval | None = None


def advised(found: InspectedServer, now: Now, use: SeenUse, evidence: Evidence) -> tuple[Advised, ...]:
    """All that could be changed, what saves most of the server first.

    Advised is what mends something that was seen, or saves `WORTH` at the use that was seen or given; all
    else says why it is not.
    """
    programs = connected(found.inside.programs, found.word.family)
    changes = []
    for change, what, seen in _possible(found, now, use):
        saving = _saving(change, found, use, evidence)
        changes.append(
            Advised(
                change=change,
                what=what,
                seen=seen,
                saving=saving,
                why_not="" if seen else _why_not(found, saving, use),
                steps=steps_for(change, found.word.version, programs),
            )
        )
    return tuple(sorted(changes, key=_rank))


def _rank(own: Advised) -> tuple[float, bool]:
    saved = own.saving.server_share or own.saving.server_cpu_us
    return -saved.point if saved is not None else 0.0, bool(own.why_not)


def _why_not(found: InspectedServer, saving: Saving, use: SeenUse) -> str:
    """Why a change is not advised of which nothing was seen that it mends; empty where it is."""
    saved = saving.server_share
    if saved is None or saved.low is None or saved.high is None:
        unknown = "is inconclusive" if "the server's CPU" in saving.inconclusive else "was not measured"
        return f"what it saves of the server's CPU {unknown}"
    if saved.high <= 0:
        return "it costs more"
    if saved.low < WORTH:
        little = f"less than {100 * WORTH:.0f} %"
        return f"it saves {little}" if saved.high < WORTH else f"it may save {little}"
    if use.source != "assumed":
        return ""
    inside = found.inside
    is_seen = inside.watched is not None or inside.since_start is not None
    return "no client was seen reconnecting" if is_seen else "whether clients reconnect could not be seen"


def _possible(found: InspectedServer, now: Now, use: SeenUse) -> Iterator[tuple[Change, str, str]]:
    """Each change that could be made: which, in words, and what was seen that it mends, if anything."""
    yield "pool", "keep connections (a pool)", _seen_reconnecting(found, use)
    chain = found.chain
    if now.key and now.certificate != CHEAPEST_KEY:
        seen = f"the server signs each full handshake with {now.key}" if chain[0].is_costly_rsa else ""
        yield "certificate", f"{key_of(CHEAPEST_KEY)} in place of {now.key}", seen
    if found.word.is_postgresql:
        yield from _possible_at_postgresql(found, now, use)
        yield from _possible_by_settings(found.word.costly_settings)
    else:
        none = "" if now.resumes in {True, None} else f"the server resumes no sessions of TLS {now.tls}"
        yield "resumption", "resume sessions", none
    if now.hello_retry and not now.group_option:
        yield "group", "P-256 first in the clients' groups", _seen_asked_again(found, use)
    if now.tls == "1.2":
        offers = now.other_version is not None
        yield "version", "TLS 1.3 in place of 1.2", "" if offers else "the server does not offer TLS 1.3"
    elif now.other_version is not None:
        yield "version", f"TLS {now.other_version} in place of {now.tls}", ""
    if len(chain) >= LONG_CHAIN:
        root = " with the root among them" if chain[-1].is_self_signed else ""
        sent = f"{sum(own.size_bytes for own in chain):,} bytes in each full handshake"
        seen = f"the server sends {len(chain)} certificates{root}, {sent}"
        yield "chain", "a shorter chain of certificates", seen
    if compressed := sum(own.connections for own in found.inside.programs if own.compression):
        seen = f"{counted(compressed, 'connection')} compress what they send"
        yield "compression", "no compression in the protocol", seen


def _possible_at_postgresql(
    found: InspectedServer, now: Now, use: SeenUse
) -> Iterator[tuple[Change, str, str]]:
    """What PostgreSQL alone has: groups of its own, TLS that begins at once, and hashes of a password."""
    if now.hello_retry and now.group_option:
        taken = P256 if now.group_option.startswith(ONE_GROUP) else f"X25519 and {P256}"
        seen = f"clients are asked for a second ClientHello: the server takes {enumerated(now.groups)}"
        yield "groups", f"{taken} among the server's groups", seen
    if now.direct:
        far = _far(found, use)
        seen = far and f"clients here are {far} from it, and ask for TLS before they begin it"
        yield "direct", "begin TLS at once (direct TLS)", seen
    iterations = found.word.scram_iterations
    if iterations is not None and iterations > SCRAM_ITERATIONS:
        seen = f"each login hashes the password {iterations:,} times" if iterations > MANY_ITERATIONS else ""
        yield "login", f"{SCRAM_ITERATIONS:,} iterations of SCRAM in place of {iterations:,}", seen


def _possible_by_settings(costly: Sequence[str]) -> Iterator[tuple[Change, str, str]]:
    """What PostgreSQL's settings cost those who connect."""
    said = dict(own.split(" = ", 1) for own in costly)
    if "log_hostname" in said:
        seen = "the name of each client that connects is looked up (log_hostname = on)"
        yield "lookup", "no look-up of clients' names", seen
    idle_ms = integer(said.get("idle_session_timeout", "0").removesuffix(" ms")) or 0
    if idle_ms:
        asked = f"sessions that are idle for {duration(idle_ms / 1000)} are closed, and made anew"
        yield "idle", "sessions that may be idle", asked if idle_ms <= SHORT_IDLE_MS else ""
    if delays := [name for name in said if name.endswith("_auth_delay")]:
        seen = f"each connection waits ({', '.join(f'{name} = {said[name]}' for name in delays)})"
        yield "delay", "no delay for those who connect", seen


def _seen_reconnecting(found: InspectedServer, use: SeenUse) -> str:
    """That connections are made for few statements each; empty where they are not, or it is not known."""
    rate = use.connects_per_s
    if use.source == "assumed" or use.statements >= FEW_STATEMENTS or rate is None or rate < 1:
        return ""
    asked = found.inside.watched.asked if found.inside.watched is not None else "statements"
    each = counted(use.statements, asked.removesuffix("s"))
    return f"{rate:.3g} connections a second are made for {each} each"


def _seen_asked_again(found: InspectedServer, use: SeenUse) -> str:
    """That clients are asked for a second ClientHello; of PostgreSQL's default where that costs what is seen.

    Before 18 it has one group, which is P-256 and cannot be X25519: each client of today's is asked again,
    and near it that takes little of what a connection costs.
    """
    asked = "clients are asked for a second ClientHello"
    if not found.word.is_postgresql:
        return asked
    far = _far(found, use)
    return far and f"{asked}, and are {far} from it"


def _far(found: InspectedServer, use: SeenUse) -> str:
    """How far clients are: "20 ms"; empty where that is near, or they are known to reconnect seldom."""
    far_us = next((own.median_us for own in found.connect if own.name == "tcp_connect"), 0.0)
    seldom = use.source != "assumed" and (use.connects_per_s or 0.0) < LEAST_CONNECTS_PER_S
    return "" if far_us < FAR_US or seldom else f"{far_us / 1000:.3g} ms"


def _saving(change: Change, found: InspectedServer, use: SeenUse, evidence: Evidence) -> Saving:
    """What was measured, computed and counted of a change; of the server's CPU best what was measured there.

    The pool spares the round trips of a connect, P-256 first that of the second ClientHello, direct TLS the
    question for it, and TLS 1.3 one of two of the handshake (RFC 8446, 2), unless it is asked again for a
    group. A chain is sent without its last certificate: a root, or the one before it. What the server's
    groups save of time is measured there by clients that offer first what it takes.
    """
    if change == "compression" and evidence.without_compression is not None:
        return evidence.without_compression
    there, there_as = evidence.there or NOT_MEASURED, "group" if change == "groups" else change
    on_cpu = (
        (evidence.cpu_there or NOT_MEASURED, ITSELF),
        (evidence.like_it or NOT_MEASURED, evidence.stand_in),
    )
    known, place = next((pair for pair in on_cpu if change in pair[0].ratios), (NOT_MEASURED, ""))
    inconclusive: list[Measure] = []
    if known is NOT_MEASURED and any(change in own.inconclusive for own, _ in on_cpu):
        inconclusive.append("the server's CPU")
    if there_as in there.inconclusive:
        inconclusive.append("the time of a connection")
    takes_first = found.word.is_postgresql and any(
        own.agreed for own in found.of("group") if own.name == "X25519"
    )
    round_trips = {
        "group": 1.0,
        "groups": 1.0,
        "direct": 1.0,
        "version": float(takes_first and found.default is not None and found.default.version == "TLSv1.2"),
        "pool": found.connect[0].round_trips if found.connect else 0.0,
    }
    return Saving(
        server_cpu_us=known.saved(change),
        server_share=known.saved_of_session(change, use.statements),
        measured_on=place,
        time_us=there.saved(there_as),
        round_trips=round_trips.get(change, 0.0),
        bytes=float(found.chain[-1].size_bytes) if change == "chain" else 0.0,
        inconclusive=tuple(inconclusive),
        client_cpu_us=evidence.hashing_us if change == "login" else None,
    )


class HowTo(Frozen):
    """How a change is made, as the file of the family has it."""

    label: str
    steps: tuple[Step, ...] = ()
    remedy: Remedy | None = None
    reloads: bool = False
    programs: ProgramTopic | None = None
    most: str = ""


FILES: dict[Family, str] = {"mysql": "changes.toml", "postgresql": "postgresql_changes.toml"}


@cache
def how_to(family: Family = "mysql") -> dict[Change, HowTo]:
    """How each change is made at a server of this family."""
    text = (resources.files("tlstax.topics.advice") / FILES[family]).read_text(encoding="utf-8")
    return TypeAdapter(dict[Change, HowTo]).validate_python(tomllib.loads(text))


def steps_for(change: Change, version: str, programs: Sequence[ProgramLines] = ()) -> tuple[Step, ...]:
    """What to do for a change at a server that says so of its version, with these programs connected.

    Where none of the programs is known, they are told what holds for most.
    """
    family = family_of(product_of(version))
    how = how_to(family)[change]
    steps = how.steps if how.remedy is None else (*entry_for(how.remedy, version).steps, *how.steps)
    if how.reloads:
        steps = (*steps, reload_for(version))
    if how.programs is not None:
        topic = how.programs
        lines = tuple(own.says(topic) for own in programs) or (how.most, ELSEWHERE[family])
        steps = (*steps, Step(where=PROGRAMS, lines=lines))
    return steps
