"""What could be changed at a server, ranked by what that saves of it, and why it is not advised. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tlstax.findings.advice.measured import Measured
from tlstax.findings.advice.situation import Now
from tlstax.findings.advice.steps import steps_for
from tlstax.findings.core.programs import connected
from tlstax.results.advice import Advised, Change, Measure, Saving, SeenUse
from tlstax.results.inspection import Certificate, InspectedServer
from tlstax.results.interval import Interval
from tlstax.study.mixes import CHEAPEST_KEY
from tlstax.study.server_words import key_of
from tlstax.study.workloads.sessions import FEW_STATEMENTS
from tlstax.support.text import counted

WORTH = 0.05
"""A change that saves less than this share of what the server spends on connections is not worth advising."""

ITSELF = "the server itself"
"""What CPU time was measured on that was measured there."""

LONG_CHAIN = 3
"""As many certificates as a server need not send: its own and the one between it and the root are enough."""


@dataclass(frozen=True)
class Computed:
    """What a change saves of a connection with all its statements, from the parts measured on `server`."""

    server_cpu_us: Interval
    server_share: Interval
    server: str

    def fields(self) -> dict[str, object]:
        """Those of a saving that it knows."""
        return {
            "server_cpu_us": self.server_cpu_us,
            "server_share": self.server_share,
            "measured_on": self.server,
            "is_computed": True,
        }


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
    without_compression: Computed | None = None

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
            saving = saving.model_copy(update=evidence.without_compression.fields())
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
    if change == "pool" and found.connect is not None:
        return found.connect.whole.round_trips
    return 0.0


def _bytes(change: Change, chain: Sequence[Certificate]) -> float:
    """What a chain without its last certificate saves: a root, or the one before it."""
    return float(chain[-1].size_bytes) if change == "chain" and chain else 0.0
