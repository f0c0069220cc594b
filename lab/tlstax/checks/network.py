"""Proof of what was between client and server: the path, the distance, and what a tap saw on the wire.

The claimed path carried every connection, alive and protecting as claimed. The distance, measured before and
after the trial, was what the case has; or there was none. A tap saw the connections that there were,
encrypted as the case has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tlstax.checks.complete import Complete, Doubt
from tlstax.checks.treatment import is_of_level
from tlstax.contract import Job, TcpEndpoint, TlsUnset, UnixEndpoint
from tlstax.contract.job import PostgreSqlServer
from tlstax.records.capture import Capture
from tlstax.records.trial import DistanceObservation, Evidence, PathObservation, PathPart, RoundTripTime
from tlstax.study.factors import Distance
from tlstax.study.level_names import DIRECT, UNIX_SOCKET
from tlstax.study.tls_levels import PROTECTION, SSH_CIPHERS
from tlstax.support.text import counted, was

NAGLE = (
    "sshd holds small packets back on the tunnel (Nagle's algorithm), as it does wherever ssh opens no "
    "session (-N): with few connections an answer waits up to 40 ms for an acknowledgement"
)
"""sshd sets TCP_NODELAY where a session begins; ssh sets it always. Seen on the sockets of OpenSSH 9.2."""


def ended_programs(evidence: Evidence) -> tuple[str, ...]:
    """A sentence for each program of the path that ended mid-trial, the one that began it first.

    What was killed took the others with it: they end by themselves, with a status of their own.
    """
    seen = evidence.path
    if seen is None:
        return ()
    ended = sorted((part for part in seen.parts if not part.alive), key=_as_a_consequence)
    return tuple(_sentence(seen, part) for part in ended)


def way(trial: Complete) -> Iterator[Doubt]:
    """The path that the case names was between client and server, or none was."""
    wanted, seen, job = trial.case.path, trial.evidence.path, trial.evidence.job
    endpoint = job.endpoint if job is not None else None
    is_socket = isinstance(endpoint, UnixEndpoint)
    if wanted in (DIRECT, UNIX_SOCKET):
        if seen is not None:
            yield Doubt("invalid", f"the path {seen.name} was used, where the case is of path {wanted}")
        if wanted == UNIX_SOCKET and not is_socket:
            yield Doubt("invalid", "the client was not sent to a Unix socket")
        claim = trial.evidence.claim
        if wanted == UNIX_SOCKET and isinstance(endpoint, UnixEndpoint) and claim is not None:
            yield from _socket(endpoint, claim.name, claim.data_directory)
        return
    if seen is None:
        yield Doubt("unknown", f"nothing shows that the path {wanted} was between client and server")
    elif seen.name != wanted:
        yield Doubt("invalid", f"the path {seen.name} was used, where the case is of path {wanted}")
    else:
        yield from _carried(trial, seen)


def _carried(trial: Complete, seen: PathObservation) -> Iterator[Doubt]:
    for sentence in ended_programs(trial.evidence):
        yield Doubt("invalid", sentence)
    if seen.name in SSH_CIPHERS:
        yield Doubt("note", NAGLE)
    wanted, reported = PROTECTION.get(seen.name), seen.protection
    if wanted is None and reported is not None:
        yield Doubt("invalid", f"the path {seen.name} protects nothing, and {seen.said_by} says {reported}")
    elif wanted is not None and reported is None:
        yield Doubt("unknown", f"{seen.said_by} does not say what protected the bytes on {seen.name}")
    elif wanted is not None and reported is not None and not _is_alone(reported, wanted):
        yield Doubt("invalid", f"{seen.said_by} says {reported}, where {seen.name} is {wanted}")
    claimed = trial.done.lifetime.connections
    if seen.connections is None:
        if all(part.alive for part in seen.parts):
            yield Doubt("unknown", f"{seen.said_by} does not show how many connections passed {seen.name}")
    elif seen.connections != claimed:
        yield Doubt(
            "invalid",
            f"{counted(seen.connections, 'connection')} passed {seen.name}, the client made {claimed}",
        )


def _is_alone(reported: str, wanted: str) -> bool:
    """Whether the path reports this protection, and no second one."""
    return reported.partition(",")[0].strip() == wanted and " and " not in reported


def _socket(endpoint: UnixEndpoint, name: str, data_directory: str) -> Iterator[Doubt]:
    """A private server has its socket beside its data."""
    if Path(endpoint.path).parent != Path(data_directory).parent:
        yield Doubt("invalid", f"the client was sent to {endpoint.path}, which is not a socket of {name}")


def _as_a_consequence(part: PathPart) -> int:
    if "SIG" in part.ended:
        return 0
    return 2 if "status" in part.ended else 1


def _sentence(seen: PathObservation, part: PathPart) -> str:
    program = Path(part.program).name
    last = f"the last line of its log: {part.last_line}" if part.last_line else "it logged nothing"
    return f"{program} of the path {seen.name}, {part.role}, ended mid-trial ({part.ended}); {last}"


TOLERANCE_MS, TOLERANCE_SHARE = 1.0, 0.05
"""How far the median round trip may exceed what was asked: a millisecond, and a twentieth of it. Both
kernels, the link's wake-ups and what else runs on the machine take their time, and all of it only adds."""

ROUNDING_MS = 0.01
"""How far it may fall short: clocks and timers are finer than this."""

PROBE_BITS = 2 * 60 * 8
"""A SYN and its answer, which a distance with a rate has to carry too; 60 bytes are the larger of both."""


def distance(trial: Complete) -> Iterator[Doubt]:
    """A case with a distance had it, before and after; a case without had none."""
    wanted, seen = trial.case.distance, trial.evidence.distance
    if not wanted.is_any:
        yield from _no_distance(trial, seen)
        return
    if seen is None or seen.after is None:
        yield Doubt("invalid", f"nothing shows that the server was {wanted.rtt_ms:g} ms away")
        return
    if (seen.rtt_ms, seen.jitter_ms, seen.rate_mbit) != (wanted.rtt_ms, wanted.jitter_ms, wanted.rate_mbit):
        yield Doubt("invalid", f"the distance was set to {seen.rtt_ms:g} ms, not to {wanted.rtt_ms:g} ms")
    for when, measured in (("before", seen.before), ("after", seen.after)):
        yield from _as_asked(wanted, measured, when)
    yield from _link_carried(wanted, seen)


def longest_ms(wanted: Distance) -> float:
    """The longest median round trip that still is this distance."""
    sending_ms = PROBE_BITS / 1000 / wanted.rate_mbit if wanted.rate_mbit else 0.0
    return wanted.rtt_ms * (1 + TOLERANCE_SHARE) + TOLERANCE_MS + 2 * wanted.jitter_ms + sending_ms


def shortest_ms(wanted: Distance) -> float:
    """The shortest one."""
    return max(0.0, wanted.rtt_ms - 2 * wanted.jitter_ms - ROUNDING_MS)


def _no_distance(trial: Complete, seen: DistanceObservation | None) -> Iterator[Doubt]:
    """Nothing was put between them, and where both are ours, the client was sent to loopback.

    Clients on other machines were sent to where those reach the server, over whatever network there is.
    """
    if seen is not None:
        yield Doubt("invalid", f"the server was {seen.rtt_ms:g} ms away, where there must be no distance")
    job = trial.evidence.job
    if trial.evidence.claim is None or job is None or not isinstance(job.endpoint, TcpEndpoint):
        return
    load, host = trial.evidence.load, job.endpoint.host
    if load is None and not host.startswith("127."):
        yield Doubt("invalid", f"the client was sent to {host}, which is not loopback")
    if load is not None and host != load.server_address:
        yield Doubt(
            "invalid", f"clients were sent to {host}, where the server is reached at {load.server_address}"
        )


def _as_asked(wanted: Distance, measured: RoundTripTime, when: str) -> Iterator[Doubt]:
    if not shortest_ms(wanted) <= measured.median_ms <= longest_ms(wanted):
        yield Doubt(
            "invalid",
            f"{when} the trial a round trip took {measured.median_ms:.2f} ms (the median of "
            f"{measured.samples}), where it must take {wanted.rtt_ms:g} to {longest_ms(wanted):.2f} ms",
        )


def _link_carried(wanted: Distance, seen: DistanceObservation) -> Iterator[Doubt]:
    """Packets that our own link was late with or had no room for are reported, not hidden."""
    link = seen.link
    if link is None:
        return
    drops = link.to_far.drops + link.to_near.drops
    if drops:
        sent = drops + link.to_far.packets + link.to_near.packets
        yield Doubt("note", f"the distance had no room for {drops} of {sent} packets")
    late_ms = link.lateness_us.p99 / 1000
    if late_ms > TOLERANCE_MS + TOLERANCE_SHARE * wanted.rtt_ms:
        yield Doubt(
            "note",
            f"one in a hundred packets arrived at least {late_ms:.1f} ms later than the distance demands",
        )


def crossed(trial: Complete) -> Iterator[Doubt]:
    """Every connection of a captured trial went through the tap, encrypted as the case has it."""
    if not trial.evidence.trial.captured:
        return
    capture, job = trial.evidence.capture, trial.evidence.job
    if capture is None:
        yield Doubt("unknown", "no tap saw what crossed the wire")
        return
    made = trial.done.lifetime.connections
    if capture.connections != made:
        yield Doubt(
            "invalid",
            f"{counted(capture.connections, 'connection')} went through the tap, the client made {made}",
        )
    if job is not None:
        yield from _spoken(job, capture)
    if job is None or isinstance(job.tls, TlsUnset):
        return
    wanted = trial.case.tls
    expected = 0 if wanted == "off" else capture.connections
    if capture.encrypted != expected:
        yield Doubt(
            "invalid",
            f"{capture.encrypted} of {counted(capture.connections, 'connection')} "
            f"{was(capture.encrypted)} encrypted on the wire, and {expected or 'none'} must be",
        )
    versions = Counter(seen.tls.version for seen in capture.conversations if seen.tls is not None)
    for version, count in versions.items():
        if version is not None and wanted != "off" and not is_of_level(version, wanted):
            yield Doubt("invalid", f"{count} of the handshakes on the wire chose {version}")


def _spoken(job: Job, capture: Capture) -> Iterator[Doubt]:
    """The protocol is the server's, TLS begins as the job has it, and all that follows is within it."""
    for spoken, count in Counter(one.spoken for one in capture.conversations).items():
        if spoken not in {None, job.server.kind}:
            yield Doubt(
                "invalid", f"{counted(count, 'connection')} spoke the protocol of {spoken} on the wire"
            )
    direct = isinstance(job.server, PostgreSqlServer) and job.server.ssl_negotiation == "direct"
    others = sum(one.tls is not None and one.is_direct != direct for one in capture.conversations)
    if others:
        how = "after a question to the server" if direct else "at once"
        yield Doubt("invalid", f"{others} of the handshakes on the wire {was(others)} begun {how}")
    early = sum(one.before_hello_bytes for one in capture.conversations)
    if early:
        yield Doubt(
            "invalid",
            f"the server sent {counted(early, 'byte')} in the clear after it agreed to TLS, before the "
            "ClientHello; a client must not take them (CVE-2021-23222)",
        )
