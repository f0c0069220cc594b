"""What really ran: for each case, what both sides said, counted and had mapped, over its valid trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tlstax.contract import TlsView
from tlstax.records.trial import MappedLibrary, TrialRecord
from tlstax.report.core.figures import NOTHING
from tlstax.report.core.groups import Row
from tlstax.study.labels import DURABILITY

PLAINTEXT = "plaintext"


@dataclass(frozen=True)
class Proof:
    """The evidence for one case; texts list what differed among its trials, most frequent first."""

    label: str
    valid: int
    trials: int
    server_said: tuple[str, ...]
    client_said: tuple[str, ...]
    resumed: str
    handshakes: str
    logins: tuple[str, ...]
    server_libraries: tuple[MappedLibrary, ...]
    client_libraries: tuple[MappedLibrary, ...]
    certificates: tuple[str, ...]


def proof(row: Row) -> Proof:
    """The evidence of a row's valid trials."""
    valid = row.valid
    server_views = [view for record in valid for view in _views(record, "server")]
    client_views = [view for record in valid for view in _views(record, "client")]
    libraries = (
        (*record.server.mapped_tls_libraries, *(record.server.mapped_faults or ()))
        for record in valid
        if record.server
    )
    return Proof(
        label=row.label,
        valid=len(valid),
        trials=len(row.trials),
        server_said=_distinct(
            [
                *(_said(view) for view in server_views),
                *(said for record in valid for said in _in_force(record)),
            ]
        ),
        client_said=_distinct(_said(view) for view in client_views),
        resumed=_resumed(valid),
        handshakes=_handshakes(valid),
        logins=_logins(valid),
        server_libraries=_distinct_libraries(libraries),
        client_libraries=_distinct_libraries(record.client_mapped_tls_libraries for record in valid),
        certificates=_distinct(_certificate(view) for view in (*client_views, *server_views)),
    )


def _views(record: TrialRecord, side: str) -> Iterator[TlsView | None]:
    """What this side said of each connection; a client that has no word for it says nothing."""
    for seen in record.ready.negotiated if record.ready else ():
        if side == "server":
            yield seen.server
        elif seen.client_tells:
            yield seen.client


def _said(view: TlsView | None) -> str:
    """Version, cipher, group, and whether the client had to say hello twice."""
    if view is None:
        return PLAINTEXT
    words = [view.version, view.cipher, view.group or "", "hello retried" if view.hello_retry else ""]
    return " ".join(word for word in words if word)


def _in_force(record: TrialRecord) -> Iterator[str]:
    """What the trial set at the server, as the server read it back."""
    server = record.server
    if server is not None and server.tls_versions is not None:
        yield f"took {server.tls_versions or 'no TLS'}"
    if server is not None and server.durability is not None:
        yield DURABILITY.get(server.durability, server.durability)


def _certificate(view: TlsView | None) -> str:
    if view is None or not (view.certificate_key or view.certificate_sha256):
        return ""
    checksum = f"sha256 {view.certificate_sha256[:16]}…" if view.certificate_sha256 else ""
    return " ".join(word for word in (view.certificate_key or "", checksum) if word)


def _resumed(records: Iterable[TrialRecord]) -> str:
    """How many of the client's handshakes were resumed: 2,300 of 2,308."""
    handshakes = [seen for record in records if record.done for seen in record.done.lifetime.handshakes]
    total = sum(seen.count for seen in handshakes)
    return f"{sum(seen.count for seen in handshakes if seen.resumed):,} of {total:,}" if total else NOTHING


def _handshakes(records: Iterable[TrialRecord]) -> str:
    """Handshakes over the trials' whole lives, as the client and as the server counted them."""
    client, server, client_counts, server_counts = 0, 0, True, True
    for record in records:
        client_counts = client_counts and not (record.job and record.job.driver)
        client += sum(seen.count for seen in record.done.lifetime.handshakes) if record.done else 0
        delta = record.server.status_delta if record.server else {}
        server_counts = server_counts and "Ssl_finished_accepts" in delta
        server += delta.get("Ssl_finished_accepts", 0)
    sides = ((client, client_counts), (server, server_counts))
    said = [f"{number:,}" if counts else "did not say" for number, counts in sides]
    return f"client {said[0]}, server {said[1]}"


def _logins(records: Iterable[TrialRecord]) -> tuple[str, ...]:
    """The ways logins took over the trials' whole lives, and how often."""
    ways: Counter[str] = Counter()
    for record in records:
        ways.update(record.done.lifetime.authentications if record.done else {})
    return tuple(f"{way.replace('_', ' ')}: {count:,}" for way, count in ways.most_common())


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(text for text, _ in Counter(text for text in texts if text).most_common())


def _distinct_libraries(libraries: Iterable[tuple[MappedLibrary, ...]]) -> tuple[MappedLibrary, ...]:
    """Every library that was mapped in any trial, each once, by path."""
    found = {library: None for trial in libraries for library in trial}
    return tuple(sorted(found, key=lambda library: library.path))


def server_versions(records: Iterable[TrialRecord]) -> tuple[str, ...]:
    """Every server that answered, each with all TLS libraries that it named as its own."""
    servers: dict[str, set[str]] = {}
    for record in records:
        if record.server:
            libraries = servers.setdefault(record.server.version, set())
            if record.server.tls_library_version:
                libraries.add(" ".join(record.server.tls_library_version.split()))
    return tuple(_with(server, libraries) for server, libraries in sorted(servers.items()))


def client_versions(records: Iterable[TrialRecord]) -> tuple[str, ...]:
    """Every client that took part, with the TLS library that it loaded."""
    clients: dict[str, set[str]] = {}
    for record in records:
        if record.ready:
            libraries = clients.setdefault(f"{record.ready.client} {record.ready.client_version}", set())
            if record.ready.tls_library:
                libraries.add(record.ready.tls_library.version)
    return tuple(_with(client, libraries) for client, libraries in clients.items())


def _with(program: str, libraries: set[str]) -> str:
    return f"{program} with {', '.join(sorted(libraries))}" if libraries else program
