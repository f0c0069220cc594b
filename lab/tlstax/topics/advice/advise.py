"""What could be changed at a server, ranked by what that saves of it, and how each change is made. Pure.

Sources of the lines to paste: MySQL 9.7 reference manual, "Encrypted Connection TLS Protocols and Ciphers",
"Reusing SSL Sessions" and "Using Encrypted Connections"; MariaDB, "Secure Connections Overview"; OpenSSL,
config(5) and openssl-genpkey(1). What the lines do is shown by tests/servers/test_advised_steps.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from tlstax.contract import Frozen
from tlstax.findings.core.programs import ProgramLines, connected
from tlstax.findings.core.programs import Topic as ProgramTopic
from tlstax.findings.core.remedies import SERVER, entry_for, reload_for
from tlstax.results.inspection import Asked, Certificate, InspectedServer, Step, Topic, Use
from tlstax.results.interval import Interval
from tlstax.study.level_names import CERTIFICATES
from tlstax.study.level_words import key_of
from tlstax.study.mixes import CHEAPEST_KEY
from tlstax.study.workloads.sessions import FEW_STATEMENTS, MOST_BYTES, MOST_STATEMENTS
from tlstax.support.text import counted
from tlstax.topics.advice.measured import Measured

ASSUMED_STATEMENTS, ASSUMED_BYTES = 10, 120
"""Of what nobody knows: a few small lookups, which is what is asked about most (docs/advising.md)."""

LEAST_CONNECTS, LEAST_CONNECTS_PER_S, LEAST_UPTIME_S = 20, 1.0, 600.0
"""Fewer connects in all say nothing of how clients use a server. Nor do fewer a second since its start, for
monitoring alone makes some, or a start that is not long ago."""

WORTH = 0.05
"""A change that saves less than this share of what the server spends on connections is not worth advising."""

ITSELF = "the server itself"
"""What CPU time was measured on that was measured there."""

LONG_CHAIN = 3
"""As many certificates as a server need not send: its own and the one between it and the root are enough."""

CLIENT_HOST, SHELL, PROGRAMS = "clients' openssl.cnf", "a shell", "clients"

GROUPS_FIRST = "P-256:X25519:P-384:P-521"

ELSEWHERE = "docs/advising.md has the line for each driver"

Change = Literal["pool", "certificate", "resumption", "group", "version", "chain", "compression"]
"""What can be changed: connections kept, the server's key, sessions resumed, the clients' groups, the TLS
version, the certificates that are sent, the protocol's compression."""

Source = Literal["given", "watched", "since its start", "assumed"]

Measure = Literal["the server's CPU", "the time of a connection"]
"""What a change is measured by."""


class SeenUse(Frozen):
    """How clients use the server, and from where that is known. `connects_per_s` None: nobody knows.

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
    `bytes` were counted. `inconclusive` names what was measured and told nothing.
    """

    server_cpu_us: Interval | None = None
    server_share: Interval | None = None
    measured_on: str = ""
    is_computed: bool = False
    time_us: Interval | None = None
    round_trips: float = 0.0
    bytes: float = 0.0
    inconclusive: tuple[Measure, ...] = ()


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
    that version are resumed, None where that was not asked.
    """

    tls: str
    certificate: str
    key: str
    hello_retry: bool
    resumes: bool | None
    other_version: str | None


def now_of(found: InspectedServer) -> Now | None:
    """What a client gets; None where there is no TLS."""
    default = next((own.agreed for own in found.asked if own.topic == "default"), None)
    if default is None:
        return None
    version = default.version.removeprefix("TLSv")
    key = found.chain[0].key if found.chain else ""
    resumed = next((own for own in _of(found, "resumption") if own.name == f"TLS {version}"), None)
    other = {"1.3": "1.2", "1.2": "1.3"}.get(version)
    offered = any(own.agreed for own in _of(found, "version") if own.name == f"TLS {other}")
    return Now(
        tls=version,
        certificate=level_of(key),
        key=key,
        hello_retry=bool(default.hello_retry),
        resumes=None if resumed is None else resumed.agreed is not None,
        other_version=other if offered else None,
    )


def level_of(key: str) -> str:
    """The level of `certificate` that a key is, "RSA 4096" or "EC P-256"; empty where there is none."""
    level = re.sub(r"[ -]", "", key.lower()).replace("rsa", "rsa-").replace("ecp", "ec-p")
    return level if level in CERTIFICATES else ""


def use_of(
    found: InspectedServer, connects_per_s: float | None, statements: int | None, answer_bytes: int | None
) -> SeenUse:
    """How the server is used: as given, else as watched, else since its start, else as assumed."""
    source, seen = _seen(found.inside.watched, found.inside.since_start)
    per_connect = seen.statements_per_connect if seen is not None else None
    if statements is not None or connects_per_s is not None:
        source = "given"
    return SeenUse(
        connects_per_s=connects_per_s if connects_per_s is not None else seen and seen.connects_per_s,
        statements=statements or _within(per_connect, MOST_STATEMENTS) or ASSUMED_STATEMENTS,
        answer_bytes=answer_bytes or _within(_answer_bytes(seen), MOST_BYTES) or ASSUMED_BYTES,
        source=source,
    )


def _seen(watched: Use | None, since_start: Use | None) -> tuple[Source, Use | None]:
    """The use that enough connects tell of: what was watched before what is long ago."""
    if watched is not None and watched.connects_per_s * watched.over_s >= LEAST_CONNECTS:
        return "watched", watched
    if since_start is not None and _tells(since_start):
        return "since its start", since_start
    return "assumed", None


def _tells(since_start: Use) -> bool:
    return since_start.over_s >= LEAST_UPTIME_S and since_start.connects_per_s >= LEAST_CONNECTS_PER_S


def _answer_bytes(use: Use | None) -> float | None:
    if use is None or not use.statements_per_s or use.sent_bytes_per_s is None:
        return None
    return use.sent_bytes_per_s / use.statements_per_s


def _within(value: float | None, most: int) -> int | None:
    return None if value is None or value <= 0 else min(most, max(1, round(value)))


def _of(found: InspectedServer, topic: Topic) -> Sequence[Asked]:
    return [own for own in found.asked if own.topic == topic]


@dataclass(frozen=True)
class Evidence:
    """What was measured: the server's CPU time on a private one, times at the server itself; None if not.

    `cpu_there` is its own CPU time, where its process was watched; `stand_in` names the private one.
    `without_compression` is computed from what the parts of connections to one like it cost.
    """

    like_it: Measured | None
    there: Measured | None
    cpu_there: Measured | None = None
    stand_in: str = ""
    without_compression: Saving | None = None

    def cpu(self, change: Change) -> tuple[Measured, str] | None:
        """What tells of the server's CPU time with this change, best what was measured there."""
        for own, name in ((self.cpu_there, ITSELF), (self.like_it, self.stand_in)):
            if own is not None and change in own.ratios:
                return own, name
        return None

    def inconclusive(self, change: Change) -> Iterator[Measure]:
        """What was measured of the change and tells nothing."""
        on_cpu = [own for own in (self.cpu_there, self.like_it) if own is not None]
        if self.cpu(change) is None and any(change in own.inconclusive for own in on_cpu):
            yield "the server's CPU"
        if self.there is not None and change in self.there.inconclusive:
            yield "the time of a connection"


def advised(found: InspectedServer, now: Now, use: SeenUse, evidence: Evidence) -> tuple[Advised, ...]:
    """All that could be changed, what saves most of the server first.

    Advised is what mends something that was seen, or saves `WORTH` at the use that was seen or given; all
    else says why it is not.
    """
    return tuple(sorted(_changes(found, now, use, evidence), key=_rank))


def _rank(own: Advised) -> tuple[float, bool]:
    saved = own.saving.server_share or own.saving.server_cpu_us
    return -saved.point if saved is not None else 0.0, bool(own.why_not)


def _why_not(found: InspectedServer, seen: str, saving: Saving, use: SeenUse) -> str:
    """Why a change is not advised; empty where it is."""
    if seen:
        return ""
    saved = saving.server_share
    if saved is None or saved.low is None or saved.high is None:
        unknown = "is inconclusive" if "the server's CPU" in saving.inconclusive else "was not measured"
        return f"what it saves of the server's CPU {unknown}"
    if saved.high <= 0:
        return "it costs more"
    if saved.low < WORTH:
        return f"it {'saves' if saved.high < WORTH else 'may save'} less than {100 * WORTH:.0f} %"
    if use.source != "assumed":
        return ""
    inside = found.inside
    is_seen = inside.watched is not None or inside.since_start is not None
    return "nobody was seen reconnecting" if is_seen else "whether clients reconnect could not be seen"


def _changes(found: InspectedServer, now: Now, use: SeenUse, evidence: Evidence) -> Iterator[Advised]:
    version, programs = found.word.version, connected(found.inside.programs)
    for change, what, seen in _possible(found, now, use):
        saving = _saving(change, found, use, evidence)
        if change == "compression" and evidence.without_compression is not None:
            computed = evidence.without_compression
            saving = saving.model_copy(
                update={name: getattr(computed, name) for name in computed.model_fields_set}
            )
        yield Advised(
            change=change,
            what=what,
            seen=seen,
            saving=saving,
            why_not=_why_not(found, seen, saving, use),
            steps=steps_for(change, version, programs),
        )


def _possible(found: InspectedServer, now: Now, use: SeenUse) -> Iterator[tuple[Change, str, str]]:
    """Each change that could be made: which, in words, and what was seen that it mends, if anything."""
    yield "pool", "keep connections (a pool)", _of_use(use)
    if now.key and now.certificate != CHEAPEST_KEY:
        yield "certificate", f"{key_of(CHEAPEST_KEY)} in place of {now.key}", _of_key(found.chain)
    none = "" if now.resumes in {True, None} else f"the server resumes no sessions of TLS {now.tls}"
    yield "resumption", "resume sessions", none
    if now.hello_retry:
        yield "group", "P-256 first in the clients' groups", "clients are asked for a second ClientHello"
    if now.tls == "1.2":
        offers = now.other_version is not None
        yield "version", "TLS 1.3 in place of 1.2", "" if offers else "the server does not offer TLS 1.3"
    elif now.other_version is not None:
        yield "version", f"TLS {now.other_version} in place of {now.tls}", ""
    yield from _of_chain(found.chain)
    yield from _of_compression(found)


def _of_use(use: SeenUse) -> str:
    rate = use.connects_per_s
    if use.source == "assumed" or use.statements >= FEW_STATEMENTS or not rate or rate < 1:
        return ""
    return f"{rate:.3g} connections a second are made for {counted(use.statements, 'statement')} each"


def _of_key(chain: Sequence[Certificate]) -> str:
    for certificate in chain[:1]:
        if certificate.is_costly_rsa:
            return f"the server signs each full handshake with {certificate.key}"
    return ""


def _of_chain(chain: Sequence[Certificate]) -> Iterator[tuple[Change, str, str]]:
    if len(chain) < LONG_CHAIN:
        return
    root = " with the root among them" if chain[-1].is_self_signed else ""
    sent = sum(own.size_bytes for own in chain)
    what = "a shorter chain of certificates"
    yield (
        "chain",
        what,
        f"the server sends {len(chain)} certificates{root}, {sent:,} bytes in each full handshake",
    )


def _of_compression(found: InspectedServer) -> Iterator[tuple[Change, str, str]]:
    compressed = sum(own.connections for own in found.inside.programs if own.compression)
    if compressed:
        seen = f"{counted(compressed, 'connection')} compress what they send"
        yield "compression", "no compression in the protocol", seen


def _saving(change: Change, found: InspectedServer, use: SeenUse, evidence: Evidence) -> Saving:
    there, known = evidence.there, evidence.cpu(change)
    return Saving(
        server_cpu_us=known[0].saved(change) if known is not None else None,
        server_share=known[0].saved_of_session(change, use.statements) if known is not None else None,
        measured_on=known[1] if known is not None else "",
        time_us=there.saved(change) if there is not None else None,
        round_trips=_round_trips(change, found),
        bytes=_bytes(change, found.chain),
        inconclusive=tuple(evidence.inconclusive(change)),
    )


def _round_trips(change: Change, found: InspectedServer) -> float:
    """Those that the change takes from a connect, as they were counted there."""
    if change == "group":
        return 1.0
    if change == "pool" and found.connect:
        return found.connect[0].round_trips
    return 0.0


def _bytes(change: Change, chain: Sequence[Certificate]) -> float:
    """What a chain without its last certificate saves: a root, or the one before it."""
    return float(chain[-1].size_bytes) if change == "chain" and chain else 0.0


def steps_for(change: Change, version: str, programs: Sequence[ProgramLines] = ()) -> tuple[Step, ...]:
    """What to do for a change at a server that says so of its version, with these programs connected."""
    topic = _OF_PROGRAMS.get(change)
    own = () if topic is None else (_in_programs(topic, programs),)
    return (*_STEPS[change](version), *own)


def _in_programs(topic: ProgramTopic, programs: Sequence[ProgramLines]) -> Step:
    """What to say to the programs that are connected; where none is known, what holds for most."""
    lines = tuple(own.says(topic) for own in programs)
    return Step(where=PROGRAMS, lines=lines or (_MOST[topic], ELSEWHERE))


_OF_PROGRAMS: dict[Change, ProgramTopic] = {"resumption": "resumption", "group": "groups", "pool": "pool"}

_MOST: dict[ProgramTopic, str] = {
    "resumption": "most drivers keep no sessions, and need a pool instead; Go and MySQL's C library can",
    "groups": "OPENSSL_CONF=openssl.cnf in the environment of one program, instead of the whole machine's",
    "pool": "a pool in the application, or a proxy that keeps connections to the server (ProxySQL)",
}


def _certificate(version: str) -> tuple[Step, ...]:
    return (
        Step(
            where=SHELL,
            lines=(
                "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out server-key.pem",
                "openssl req -new -key server-key.pem -subj /CN=db.example "
                '-addext "subjectAltName=DNS:db.example" -out server.csr',
            ),
        ),
        Step(where="your authority", lines=("have server.csr signed, and save it as server-cert.pem",)),
        Step(
            where=SERVER,
            lines=(
                "[mysqld]",
                "ssl_key = /path/to/server-key.pem",
                "ssl_cert = /path/to/server-cert.pem",
                "ssl_ca = /path/to/authority.pem",
            ),
        ),
        reload_for(version),
    )


def _resumption(version: str) -> tuple[Step, ...]:
    return entry_for("resumption", version).steps


def _group(_: str) -> tuple[Step, ...]:
    return (
        Step(
            where=CLIENT_HOST,
            lines=(
                "openssl_conf = default_conf",
                "[default_conf]",
                "ssl_conf = ssl_section",
                "[ssl_section]",
                "system_default = defaults",
                "[defaults]",
                f"Groups = {GROUPS_FIRST}",
            ),
        ),
    )


def _nothing(_: str) -> tuple[Step, ...]:
    return ()


def _version(version: str) -> tuple[Step, ...]:
    return entry_for("versions", version).steps


def _chain(version: str) -> tuple[Step, ...]:
    """MySQL reloads a certificate only if it can verify it with ssl_ca alone."""
    lines = (
        "[mysqld]",
        "# the server's certificate, then those between it and the root, and not the root",
        "ssl_cert = /path/to/server-cert.pem",
        "# those between and the root",
        "ssl_ca = /path/to/authority.pem",
    )
    return (Step(where=SERVER, lines=lines), reload_for(version))


def _compression(_: str) -> tuple[Step, ...]:
    line = "leave compression out: useCompression=false, --compress=0, compress=False"
    return (Step(where=PROGRAMS, lines=(line,)),)


_STEPS = {
    "certificate": _certificate,
    "resumption": _resumption,
    "group": _group,
    "pool": _nothing,
    "version": _version,
    "chain": _chain,
    "compression": _compression,
}
