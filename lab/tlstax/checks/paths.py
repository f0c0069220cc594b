"""Proof that the claimed path carried every connection, alive and protecting as claimed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tlstax.checks.complete import Complete, Doubt
from tlstax.contract import UnixEndpoint
from tlstax.records.trial import Evidence
from tlstax.records.way import PathObservation, PathPart
from tlstax.study.level_names import DIRECT, UNIX_SOCKET
from tlstax.study.tls_levels import PROTECTION, SSH_CIPHERS

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
            "invalid", f"{seen.connections} connections passed {seen.name}, the client made {claimed}"
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
