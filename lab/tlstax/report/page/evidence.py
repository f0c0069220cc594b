"""What really ran, on the page: what both sides of each case said, counted and had mapped; its processors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tlstax.contract import TlsView
from tlstax.records.trial import MappedLibrary, StoredRun, TrialRecord
from tlstax.records.window import CpuTicks
from tlstax.report.overview import wants_overview
from tlstax.results.document import RunDocument
from tlstax.stats.outcomes import series, shares, together, window_slices
from tlstax.stats.wording import capitalised, subject_label
from tlstax.study.factors import SERVER_FACTORS
from tlstax.study.level_names import DURABILITY_WORDS, changed_words
from tlstax.support.grouping import grouped
from tlstax.topics.core.figures import NOTHING
from tlstax.topics.core.groups import Group, Row
from tlstax.topics.core.section import Block, Folded, Heading, Section, Words
from tlstax.topics.core.table import INDENT, Table

PROVED = (
    "Each case had to prove that it was what it claims to be: both sides were asked on the very connections, "
    "and both counted. Handshakes are counted over the whole life of the valid trials, warm-up included."
)

PROOF_HEADS = (
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


def evidence(stored: StoredRun, document: RunDocument, groups: Sequence[Group]) -> Section:
    """For a large study process by process, else group by group."""
    blocks: list[Block] = [Words(PROVED, aside=True)]
    if wants_overview(document.design):
        blocks += processes(stored, document)
    for group in groups:
        if len(groups) > 1:
            blocks.append(Heading(capitalised(group.label)))
        blocks += (*proofs(group.rows), *processors(group.rows))
    return Section(tuple(blocks), "What really ran")


def proofs(rows: Iterable[Row]) -> tuple[Table, Folded]:
    """The evidence of each row's valid trials, and folded away what their processes had mapped.

    Of what differed among a case's trials, a line each, the most frequent first.
    """
    cases = list(rows)
    files = (
        (
            row.label,
            _server_files(row.valid),
            _files(file for record in row.valid for file in record.client_mapped_tls_libraries),
        )
        for row in cases
    )
    proved = Table("", PROOF_HEADS, tuple(map(_proof, cases)), (), of_words=True, literal=True)
    mapped = Table("", MAPPED_HEADS, tuple(files), (), of_words=True, literal=True)
    return proved, Folded(LIBRARIES, (mapped,))


def _proof(row: Row) -> tuple[str, ...]:
    valid = row.valid
    server_views = [view for record in valid for view in _views(record, "server")]
    client_views = [view for record in valid for view in _views(record, "client")]
    in_force = (said for record in valid for said in _in_force(record))
    return (
        row.label,
        f"{len(valid)} of {len(row.trials)}",
        _distinct((*map(_view_words, server_views), *in_force)),
        _distinct(map(_view_words, client_views)),
        _resumed(valid),
        _handshakes(valid),
        _logins(valid),
        _distinct(map(_certificate, (*client_views, *server_views))),
    )


def _views(record: TrialRecord, side: str) -> Iterator[TlsView | None]:
    """What this side said of each connection; a client that has no word for it says nothing."""
    for seen in record.ready.negotiated if record.ready else ():
        if side == "server":
            yield seen.server
        elif seen.client_tells:
            yield seen.client


def _view_words(view: TlsView | None) -> str:
    """Version, cipher, group, and whether the client had to say hello twice."""
    if view is None:
        return "plaintext"
    words = [view.version, view.cipher, view.group or "", "hello retried" if view.hello_retry else ""]
    return " ".join(word for word in words if word)


def _in_force(record: TrialRecord) -> Iterator[str]:
    """What the trial set at the server, as the server read it back, or what was planted in it counted."""
    server = record.server
    if server is not None and server.tls_versions is not None:
        yield f"took {server.tls_versions or 'no TLS'}"
    if server is not None and server.durability is not None:
        yield DURABILITY_WORDS.get(server.durability, server.durability)
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
        counted = record.server.counted("handshakes") if record.server else None
        server_counts = server_counts and counted is not None
        server += counted or 0
    sides = ((client, client_counts), (server, server_counts))
    said = [f"{number:,}" if counts else "did not say" for number, counts in sides]
    return f"client {said[0]}, server {said[1]}"


def _logins(records: Iterable[TrialRecord]) -> str:
    """The ways logins took over the trials' whole lives, and how often."""
    ways: Counter[str] = Counter()
    for record in records:
        ways.update(record.done.lifetime.authentications if record.done else {})
    return _cell(f"{way.replace('_', ' ')}: {count:,}" for way, count in ways.most_common())


def _distinct(texts: Iterable[str]) -> str:
    """Each of these texts on a line of its own, the most frequent first."""
    return _cell(text for text, _ in Counter(filter(None, texts)).most_common())


def _server_files(records: Iterable[TrialRecord]) -> str:
    """What was mapped into the servers of these trials."""
    servers = (record.server for record in records if record.server)
    return _files(file for s in servers for file in (*s.mapped_tls_libraries, *(s.mapped_faults or ())))


def _files(files: Iterable[MappedLibrary]) -> str:
    """Every file that was mapped in any trial, each once, by path, with its checksum below."""
    known = sorted(dict.fromkeys(files), key=lambda file: file.path)
    return _cell(f"{file.path}\n{INDENT}sha256 {file.sha256}" for file in known)


def _cell(lines: Iterable[str]) -> str:
    """A cell with these lines; a dash where there are none."""
    return "\n".join(lines) or NOTHING


SECONDS = (1, 5)
"""The lengths of the stretches that a window is shown in, where it is longer than one of them."""

COLUMNS = ("user", "nice", "system", "iowait", "steal", "idle")

HEADS = (
    "Window",
    "Trials",
    *(f"%{name}" for name in COLUMNS),
    "%system on the server\N{RIGHT SINGLE QUOTATION MARK}s CPUs",
)


def processors(rows: Sequence[Row]) -> Iterator[Folded]:
    """What is known of these cases' valid trials; nothing where none was watched."""
    lines = tuple(line for row in rows for line in _lines(row))
    ticks = {record.window.ticks_per_s for row in rows for record in row.valid if record.window}
    if lines and ticks:
        reading = (
            f"The kernel counts in ticks of {1000 / min(ticks):g} ms, so a short window alone tells little: "
            "each line is the sum over the case's valid trials. %system includes interrupts, as sar has it."
        )
        table = Table("", HEADS, lines, (), of_words=True, literal=True)
        yield Folded("What the processors did, second by second", (Words(reading, aside=True), table))


def _lines(row: Row) -> Iterator[tuple[str, ...]]:
    """The lines of one case, which the first one names: every second, every five, and all together.

    Shares of the machine, and the kernel's on the server's processors where it has some of its own.
    """
    records = row.valid
    slices = window_slices(records)
    everything = together(slices)
    if everything is None or shares(everything) is None:
        return
    longest_s = max(part.at_s + part.took_s for part in slices)
    watched = sum(1 for record in records if record.window and record.window.cpus)
    stretches: list[tuple[str, int, CpuTicks, CpuTicks | None]] = []
    for every_s in SECONDS:
        if longest_s > every_s:
            own = {stretch.from_s: stretch.ticks for stretch in series(records, every_s, "server")}
            for stretch in series(records, every_s):
                words = f"{stretch.from_s:g} to {min(stretch.from_s + every_s, stretch.to_s):.3g} s"
                stretches.append((words, stretch.trials, stretch.ticks, own.get(stretch.from_s)))
    stretches.append(("average", watched, everything, together(slices, "server")))
    for place, (words, trials, *ticks) in enumerate(stretches):
        machine, server = (shares(spent) if spent is not None else None for spent in ticks)
        cells = (NOTHING if machine is None else f"{getattr(machine, name):.2f}" for name in COLUMNS)
        label = "" if place else row.label
        yield label, words, f"{trials}", *cells, NOTHING if server is None else f"{server.system:.2f}"


PROCESS_HEADS = (
    "Valid trials",
    "Meant",
    "The server said",
    "As meant",
    "Mapped",
    "The client\N{RIGHT SINGLE QUOTATION MARK}s library",
)
READING = (
    "“As meant” counts the trials in which the files mapped into the answering process had the wanted "
    "checksums, and no other TLS library was mapped beside them."
)


def processes(stored: StoredRun, document: RunDocument) -> tuple[Heading, Words, Table]:
    """Every server over every library, each process by itself, by name, over the run's valid trials."""

    def label(record: TrialRecord) -> str:
        return subject_label(record.trial.case.levels.only(*SERVER_FACTORS), document.design)

    found = grouped(stored.measured, label)
    rows = tuple(_process(label, found[label]) for label in sorted(found))
    table = Table("", PROCESS_HEADS, rows, (), of="process", of_words=True, literal=True)
    return Heading("Which TLS library ran under which server"), Words(READING, aside=True), table


def _process(label: str, records: list[TrialRecord]) -> tuple[str, ...]:
    valid = [record for record in records if record.is_valid]
    servers = [record.server for record in valid if record.server]
    loaded = (record.ready.tls_library for record in valid if record.ready)
    return (
        label,
        f"{len(valid)} of {len(records)}",
        _distinct(map(_meant, valid)),
        _distinct(" with ".join(filter(None, (s.version, s.tls_library_version))) for s in servers),
        _as_meant(valid),
        _server_files(valid),
        _distinct(library.version for library in loaded if library),
    )


def _meant(record: TrialRecord) -> str:
    claim = record.claim
    if claim is None:
        return ""
    library, fault = claim.tls_library, claim.planted
    over = f"{library.name} ({library.version})" if library else "its own"
    return f"{claim.name} with {over}{f', {changed_words(fault.name)}' if fault else ''}"


def _as_meant(records: list[TrialRecord]) -> str:
    """In how many trials the files mapped into the answering process had the wanted checksums."""
    meant = [(own.claim, own.server) for own in records if own.claim and own.claim.tls_library]
    if not meant:
        return NOTHING
    count = 0
    for claim, server in meant:
        if server is not None and claim.tls_library is not None and server.answering_pid in {None, claim.pid}:
            wanted = {claim.tls_library.libssl_sha256, claim.tls_library.libcrypto_sha256}
            count += wanted == {library.sha256 for library in server.mapped_tls_libraries}
    return f"{count:,} of {len(meant):,}"
