"""What really ran: for each case, what both sides said, counted and had mapped, over its valid trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tlstax.contract import TlsView
from tlstax.records.trial import MappedLibrary, TrialRecord
from tlstax.study.level_words import DURABILITY
from tlstax.support.grouping import grouped
from tlstax.topics.core.figures import NOTHING
from tlstax.topics.core.groups import Row
from tlstax.topics.core.section import Folded
from tlstax.topics.core.table import INDENT, Table, lines

PLAINTEXT = "plaintext"


HEADS = (
    "Valid trials",
    "The server said",
    "The client said",
    "Resumed",
    "Handshakes",
    "Logins",
    "Certificate",
)
MAPPED_HEADS = ("In the server", "In the client")
LIBRARIES = "TLS libraries and planted faults mapped into the processes"


def evidence(rows: Iterable[Row]) -> tuple[Table, Folded]:
    """The evidence of each row's valid trials, and folded away what their processes had mapped.

    Of what differed among a case's trials, a line each, the most frequent first.
    """
    cases = list(rows)
    proofs = Table("", HEADS, tuple(map(_proof, cases)), (), of_words=True, literal=True)
    mapped = Table("", MAPPED_HEADS, tuple(map(_mapped, cases)), (), of_words=True, literal=True)
    return proofs, Folded(LIBRARIES, (mapped,))


def _proof(row: Row) -> tuple[str, ...]:
    valid = row.valid
    server_views = [view for record in valid for view in _views(record, "server")]
    client_views = [view for record in valid for view in _views(record, "client")]
    in_force = (said for record in valid for said in _in_force(record))
    return (
        row.label,
        f"{len(valid)} of {len(row.trials)}",
        distinct((*map(_said, server_views), *in_force)),
        distinct(map(_said, client_views)),
        _resumed(valid),
        _handshakes(valid),
        _logins(valid),
        distinct(map(_certificate, (*client_views, *server_views))),
    )


def _mapped(row: Row) -> tuple[str, ...]:
    servers = (record.server for record in row.valid if record.server)
    at_server = (file for s in servers for file in (*s.mapped_tls_libraries, *(s.mapped_faults or ())))
    at_client = (file for record in row.valid for file in record.client_mapped_tls_libraries)
    return row.label, mapped_files(at_server), mapped_files(at_client)


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
    """What the trial set at the server, as the server read it back, or what was planted in it counted."""
    server = record.server
    if server is not None and server.tls_versions is not None:
        yield f"took {server.tls_versions or 'no TLS'}"
    if server is not None and server.durability is not None:
        yield DURABILITY.get(server.durability, server.durability)
    if record.burned is not None and (calls := sum(record.burned.calls)):
        yield f"burned {sum(record.burned.asked_ns) / calls:,.10g} ns a call"


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


def _logins(records: Iterable[TrialRecord]) -> str:
    """The ways logins took over the trials' whole lives, and how often."""
    ways: Counter[str] = Counter()
    for record in records:
        ways.update(record.done.lifetime.authentications if record.done else {})
    return lines(f"{way.replace('_', ' ')}: {count:,}" for way, count in ways.most_common())


def distinct(texts: Iterable[str]) -> str:
    """Each of these texts on a line of its own, the most frequent first."""
    return lines(text for text, _ in Counter(filter(None, texts)).most_common())


def mapped_files(files: Iterable[MappedLibrary]) -> str:
    """Every file that was mapped in any trial, each once, by path, with its checksum below."""
    known = sorted(dict.fromkeys(files), key=lambda file: file.path)
    return lines(f"{file.path}\n{INDENT}sha256 {file.sha256}" for file in known)


def server_versions(records: Iterable[TrialRecord]) -> tuple[str, ...]:
    """Every server that answered, each with all TLS libraries that it named as its own."""
    servers = (record.server for record in records if record.server)
    named = ((server.version, server.tls_library_version or "") for server in servers)
    return tuple(sorted(_programs((version, " ".join(library.split())) for version, library in named)))


def client_versions(records: Iterable[TrialRecord]) -> tuple[str, ...]:
    """Every client that took part, with the TLS library that it loaded."""
    clients = (record.ready for record in records if record.ready)
    named = ((f"{ready.client} {ready.client_version}", ready.tls_library) for ready in clients)
    return tuple(_programs((client, library.version if library else "") for client, library in named))


def _programs(seen: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Each program with all libraries that were seen with it."""
    for program, several in grouped(seen, lambda both: both[0]).items():
        libraries = ", ".join(sorted({library for _, library in several if library}))
        yield f"{program} with {libraries}" if libraries else program
