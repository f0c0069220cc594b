"""Proof of treatment from the server alone, for load clients that cannot be asked what they negotiated.

Every connection that did measured work has reported itself to the server, within the window
(`connections_seen`). mysqlslap sets its TLS options on its main connection; whether those that do the work
have them too is another question, and in some versions they have not. Whoever connects also needs ports to
connect from: looking for one of the last takes long.
"""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.checks.complete import Complete, Doubt
from tlstax.checks.handshakes import unless_counted
from tlstax.checks.treatment import is_of_level
from tlstax.checks.verification import ignores_ssl_mode
from tlstax.contract import Job, TlsOn
from tlstax.records.trial import ConnectionsSeen
from tlstax.study import tls_levels
from tlstax.study.client_kinds import kind_of
from tlstax.study.level_names import DIRECT, UNSET
from tlstax.support.text import counted, was

_MODES = {"none": "REQUIRED", "ca": "VERIFY_CA", "identity": "VERIFY_IDENTITY"}


def seen_at_server(trial: Complete) -> Iterator[Doubt]:
    """As many connections as worked have reported themselves, and are encrypted as the case has it."""
    seen = trial.server.connections
    if seen is None:
        return
    worked, reported = trial.done.window.connections, sum(group.connections for group in seen)
    wanted = trial.case.tls
    for group in seen:
        if _disagrees(group, wanted):
            yield Doubt("invalid", _disobedience(trial, group, reported))
    if reported != worked:
        yield Doubt(
            "invalid",
            f"the client says that {counted(worked, 'connection')} did the measured work, and {reported} "
            "reported themselves to the server",
        )
    yield from _counted_handshakes(trial, wanted)
    if wanted != "off":
        yield Doubt(
            "note",
            f"{trial.ready.client} connects within the measured window: the figures include a TLS handshake "
            "for each of its connections",
        )


def logged(trial: Complete) -> Iterator[Doubt]:
    """The log of who let clients in names as many as the client opened, each encrypted as the case has it.

    That is the server's, or a pooler's before it, which ends their TLS. It was written over the client's
    whole lifetime, while it worked alone, or until its window began. A driver may open more by itself:
    `drivers.connections` tells of them.
    """
    seen, behind = trial.server.logged, trial.case.address != DIRECT
    if seen is None or behind:
        return
    pools = trial.case.path in tls_levels.POOLS
    whose = "the pooler's log" if pools else "the server's log"
    wanted = trial.case.tls if pools else tls_levels.tls_at_server(trial.case)
    for group in seen:
        if wanted not in {UNSET, tls_levels.OWN_TLS} and _disagrees(group, wanted):
            how = f"encrypted ({group.version}, {group.cipher})" if group.version else "not encrypted"
            yield Doubt(
                "invalid",
                f"by {whose} {counted(group.connections, 'connection')} {was(group.connections)} {how}",
            )
    total, until_ready = sum(group.connections for group in seen), trial.server.logged_until_ready
    lifetime, window = trial.done.lifetime.connections, trial.done.window.connections
    claimed = lifetime - window if until_ready else trial.alone.connections
    may_be_more = kind_of(trial.case.client).is_driver
    if total < claimed or (total > claimed and not may_be_more):
        when = " before its window" if until_ready else ""
        yield Doubt("invalid", f"{whose} names {counted(total, 'connection')}{when}, the client {claimed}")


def _disagrees(group: ConnectionsSeen, wanted: str) -> bool:
    if wanted == "off":
        return group.version is not None
    return group.version is None or not is_of_level(group.version, wanted)


def _counted_handshakes(trial: Complete, wanted: str) -> Iterator[Doubt]:
    """The server's own counter agrees: a handshake for each connection of the client's life, or none."""
    handshakes = trial.server.counted("handshakes")
    if handshakes is None:
        return
    connections = trial.done.lifetime.connections
    expected = 0 if wanted == "off" else connections
    yield from unless_counted(
        trial.server,
        expected,
        f"the server counted {counted(handshakes, 'TLS handshake')} on {counted(connections, 'connection')} "
        f"({trial.server.counting.name('handshakes')}), where there must be {expected or 'none'}",
    )


def _disobedience(trial: Complete, group: ConnectionsSeen, reported: int) -> str:
    """For example "mysqlslap 8.0.33 was given --ssl-mode=DISABLED, and yet all 8 connections …"."""
    were = f"encrypted ({group.version}, {group.cipher})" if group.version else "not encrypted"
    if group.connections == reported:
        everyone = {1: "the connection", 2: "both connections"}.get(reported, f"all {reported} connections")
        who = f"{everyone} that did the measured work"
    else:
        who = f"{group.connections} of the {reported} connections that did the measured work"
    verb = "were" if reported > 1 else "was"
    sentence = (
        f"{_client(trial)} was given {_options(trial.evidence.job)}, and yet {who} {verb} {were}, as the "
        f"server says on {'each of them' if reported > 1 else 'it'}"
    )
    if ignores_ssl_mode(trial):
        return f"{sentence}: this {trial.ready.client}'s workers ignore --ssl-mode"
    return sentence


def _options(job: Job | None) -> str:
    """The TLS options that mysqlslap was given for the job."""
    if job is None or not isinstance(job.tls, TlsOn):
        return "--ssl-mode=DISABLED"
    version = job.tls.min_version if job.tls.min_version == job.tls.max_version else None
    return f"--ssl-mode={_MODES[job.tls.verify]}{f' --tls-version=TLSv{version}' if version else ''}"


def _client(trial: Complete) -> str:
    return f"{trial.ready.client} {trial.ready.client_version}"


MOST_WAITING = 0.45
"""Share of all ports. The kernel tries every second one first (Linux's inet_hashtables.c, since 4.2). At nine
tenths of that half a search meets ten that are taken, and beyond it all 14,000: a millisecond of the client's
CPU time for each connect."""


def enough_ports(trial: Complete) -> Iterator[Doubt]:
    """A client that made connections had ports left that no closed connection kept."""
    ports = trial.evidence.ports
    if ports is None or not trial.done.window.connections or ports.waiting <= MOST_WAITING * ports.there_are:
        return
    yield Doubt(
        "invalid",
        f"{ports.waiting:,} of the client's {ports.there_are:,} ports were still kept by closed connections, "
        "for a minute each, and the search for a free one slowed connecting down; on its machine, as root, "
        "`sysctl net.ipv4.tcp_tw_reuse=1` has ports used again after a second",
    )
