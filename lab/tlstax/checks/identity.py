"""Proof of identity: the server, its libraries and what we put into it are those that a trial was to measure.

Three things go wrong silently. A library directory in which a name is missing makes the loader take the
program's own library. An old server that has not died yet answers in the new one's place. A path leads to
another file than it did. So names are not believed: processes, and files by their content, are. A planted
library counts by itself: its calls, what each of them found that it was to burn, and what it burned by its
own clock. So a page that was set too late, for another case or not at all is found out, and so is a server
that never calls it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tlstax.checks.complete import Complete, Doubt
from tlstax.contract import TcpEndpoint
from tlstax.records.trial import LibraryClaim, MappedLibrary
from tlstax.records.window import LockCounts
from tlstax.study.client_kinds import kind_of
from tlstax.study.level_names import BURN, COUNT_LOCKS, NO_FAULT
from tlstax.support import text

_NUMBERS = re.compile(r"(?:[A-Za-z]+ )?(\d+(?:\.\d+)*)")
_LIBRARY_VERSION = re.compile(r"\d+\.\d+\.\d+[a-z]*|\d+\.\d+")


def answering(trial: Complete) -> Iterator[Doubt]:
    """The process that the laboratory's connection ends at is the one that was started, of that program."""
    claim, seen = trial.evidence.claim, trial.server
    if claim is None:
        return
    if seen.answering_pid is None:
        yield Doubt("unknown", f"it is not known which process answered for {claim.name}")
    elif seen.answering_pid != claim.pid:
        yield Doubt(
            "invalid", f"process {seen.answering_pid} answered, where {claim.name} is process {claim.pid}"
        )
    if seen.program is not None and seen.program != claim.program:
        yield Doubt("invalid", f"what answered executes {seen.program}, not {claim.program}")
    if seen.data_directory is not None and seen.data_directory != claim.data_directory:
        yield Doubt(
            "invalid",
            f"what answered serves the data in {seen.data_directory}, where {claim.name} has its own in "
            f"{claim.data_directory}",
        )
    if _numbers(seen.version) != _numbers(claim.version):
        yield Doubt("invalid", f"the server says that it is {seen.version}, where {claim.version} is claimed")


def listening(trial: Complete) -> Iterator[Doubt]:
    """The port that the client was sent to is one on which that very process listens.

    Where a path is between them, the client was sent to the path, and the path leads to that port. So it is
    with a tap.
    """
    claim, job, path = trial.evidence.claim, trial.evidence.job, trial.evidence.path
    if claim is None or job is None or not isinstance(job.endpoint, TcpEndpoint):
        return
    if (tap := trial.evidence.capture) is not None:
        sent_to, who = tap.server_port, "the tap leads"
        if tap.entry_port != job.endpoint.port:
            yield Doubt(
                "invalid",
                f"the client was sent to port {job.endpoint.port}, where the tap listens on {tap.entry_port}",
            )
    elif path is None:
        sent_to, who = job.endpoint.port, "the client was sent"
    else:
        sent_to, who = path.server_port, f"the path {path.name} leads"
    if path is not None and path.entry_port != job.endpoint.port:
        yield Doubt(
            "invalid",
            f"the client was sent to port {job.endpoint.port}, where the path {path.name} begins at "
            f"{path.entry_port}",
        )
    port = trial.server.listening_port
    if port is None:
        yield Doubt("unknown", f"{claim.name} was not seen to listen on any port")
    elif port != sent_to:
        yield Doubt("invalid", f"{who} to port {sent_to}, where {claim.name} listens on {port}")


def server_library(trial: Complete) -> Iterator[Doubt]:
    """The claimed TLS library, and no other, is mapped into the server; its own word agrees."""
    claim = trial.evidence.claim
    if claim is None:
        return
    mapped = trial.server.mapped_tls_libraries
    if claim.tls_library is None:
        yield from _second_copy(claim.name, mapped)
        return
    if not mapped:
        yield Doubt("unknown", f"it is not known which TLS library is loaded into {claim.name}")
        return
    yield from _other_files(claim.name, claim.tls_library, mapped)
    word = trial.server.tls_library_version
    if word is not None:
        yield from _other_word(claim.name, claim.tls_library, word)


def client_library(trial: Complete) -> Iterator[Doubt]:
    """The TLS library that the client names is mapped into it, and is the one that it was to load."""
    library, mapped = trial.ready.tls_library, trial.evidence.client_mapped_tls_libraries
    claim = trial.evidence.client_claim
    if library is None:
        if claim is not None and not kind_of(trial.case.client).asks:
            yield from _put_under(trial.ready.client, claim, mapped)
        elif claim is not None:
            yield Doubt("invalid", f"the client loaded no TLS library, where it is meant to be {claim.name}")
        return
    paths = {seen.path for seen in mapped}
    if not mapped:
        weight = "note" if claim is None else "unknown"
        yield Doubt(weight, "the client's memory map could not be read")
        return
    if not {library.libssl_path, library.libcrypto_path} <= paths:
        yield Doubt(
            "invalid", f"the client claims {library.libssl_path}, but {', '.join(sorted(paths))} is mapped"
        )
    if claim is not None:
        yield from _other_files("the client", claim, mapped)
        yield from _other_word("the client", claim, library.version)


def _put_under(client: str, claim: LibraryClaim, mapped: tuple[MappedLibrary, ...]) -> Iterator[Doubt]:
    """The library that a client was started over is mapped into it, and no other libssl.

    A program may be linked with a libcrypto itself, which its libssl does not ask.
    """
    if not mapped:
        yield Doubt("unknown", "the client's memory map could not be read")
        return
    meant = f"where it is meant to be {claim.name}'s"
    for name, sha256 in (("libssl", claim.libssl_sha256), ("libcrypto", claim.libcrypto_sha256)):
        files = [seen for seen in mapped if _is_called(seen, name)]
        others = [seen.path for seen in files if seen.sha256 != sha256]
        if len(others) == len(files):
            yield Doubt("invalid", f"no such {name} is loaded into {client}, {meant}")
        elif others and name == "libssl":
            yield Doubt("invalid", f"{', '.join(others)} is loaded into {client}, {meant}")


def planted(trial: Complete) -> Iterator[Doubt]:
    """What is claimed is mapped into the server, by its content; where nothing is claimed, nothing is."""
    claim = trial.evidence.claim
    if claim is None:
        return
    mapped, fault = trial.server.mapped_faults, claim.planted
    wanted, given = trial.case.fault, fault.name if fault else NO_FAULT
    if wanted != given:
        yield Doubt("invalid", f"the case asks for {wanted}, and {claim.name} was started with {given}")
    if mapped is None:
        weight = "note" if fault is None else "unknown"
        what = fault.name if fault else "a fault or variant of ours"
        yield Doubt(weight, f"it is not known whether {what} is loaded into {claim.name}")
        return
    others = [seen.path for seen in mapped if fault is None or seen.sha256 != fault.sha256]
    if fault is not None and len(others) == len(mapped):
        yield Doubt("invalid", f"{fault.name} is not loaded into {claim.name}, where it is meant to be")
    if others:
        meant = f"is not {fault.name}" if fault else "nothing of ours is meant to be there"
        yield Doubt("invalid", f"{', '.join(others)} is loaded into {claim.name}, and {meant}")


def _other_files(who: str, claim: LibraryClaim, mapped: tuple[MappedLibrary, ...]) -> Iterator[Doubt]:
    """Every libssl and libcrypto that is mapped has the claimed content, and both are there."""
    for name, sha256 in (("libssl", claim.libssl_sha256), ("libcrypto", claim.libcrypto_sha256)):
        files = [seen for seen in mapped if _is_called(seen, name)]
        others = [seen.path for seen in files if seen.sha256 != sha256]
        if not files:
            yield Doubt("invalid", f"no {name} is loaded into {who}, where it is meant to be {claim.name}'s")
        if others:
            yield Doubt(
                "invalid",
                f"{', '.join(others)} is loaded into {who}, and is not {claim.name}'s {name}",
            )


def _second_copy(who: str, mapped: tuple[MappedLibrary, ...]) -> Iterator[Doubt]:
    for name in ("libssl", "libcrypto"):
        files = [seen.path for seen in mapped if _is_called(seen, name)]
        if len(files) > 1:
            yield Doubt("invalid", f"{' and '.join(files)} are both loaded into {who}")


def _other_word(who: str, claim: LibraryClaim, word: str) -> Iterator[Doubt]:
    """`word` is as OpenSSL prints its version: its name, the number, the date.

    PostgreSQL says the name alone (`ssl_library`): which of that name it is, the mapped files show.
    """
    number = _LIBRARY_VERSION.search(word)
    if number is None and claim.name.partition("-")[0] == word.lower():
        return
    if number is None or not _begins_with(claim.version, number[0]):
        yield Doubt("invalid", f"{who} says that it runs over {word}, where {claim.name} is {claim.version}")


def _begins_with(version: str, number: str) -> bool:
    """Whether a version (3.5.5-1~deb13u1) is of this number (3.5.5, and not 3.5.51 or 3.5.5a)."""
    return re.match(re.escape(number) + r"(?![a-z0-9])", version) is not None


def _is_called(library: MappedLibrary, name: str) -> bool:
    return library.path.rpartition("/")[2].startswith(name)


def _numbers(version: str) -> str:
    """The dotted number at the beginning; servers have a name before it, and words of their own behind."""
    number = _NUMBERS.match(version)
    return number[1] if number else version


def burned(trial: Complete) -> Iterator[Doubt]:
    """Every call was asked to burn what the case says, and burned no less; and there were calls."""
    if trial.case.fault != BURN:
        return
    seen, wanted_ns = trial.evidence.burned, trial.case.burn_ns
    if seen is None:
        yield Doubt("unknown", f"it is not known what the fault {BURN} burned")
        return
    turns = seen.turns()
    others = [(calls, asked_ns) for calls, asked_ns, _ in turns if asked_ns != calls * wanted_ns]
    if others:
        calls, asked_ns = others[0]
        yield Doubt(
            "invalid",
            f"in {len(others)} of {len(turns)} turns another amount was burned than {wanted_ns} ns a call: "
            f"{asked_ns} ns in {text.counted(calls, 'call')}",
        )
    if any(burned_ns < asked_ns for _, asked_ns, burned_ns in turns):
        yield Doubt("invalid", f"the fault {BURN} burned less than it was asked for")
    if wanted_ns and not sum(seen.calls):
        yield Doubt("invalid", f"nothing of the server called the fault {BURN}")


def counted(trial: Complete) -> Iterator[Doubt]:
    """Locks were counted over the operations that were watched, and all of them.

    So were those of a client that counts its own: that it does is seen by the library in its memory.
    That there were none is a count like another, of a server that counts where the connections are: a process
    of PostgreSQL takes no POSIX lock for a query.
    """
    if trial.case.fault != COUNT_LOCKS:
        return
    if kind_of(trial.case.client).has_locks_counted:
        yield from _counted_whole(trial, trial.evidence.client_locks, "client")
    seen = trial.evidence.locks
    yield from _counted_whole(trial, seen, "server")
    if seen is None:
        return
    if not seen.accepted and not any(site.calls for site in seen.sites):
        yield Doubt(
            "invalid", "no connection of the server took a lock that is counted, nor was one accepted"
        )


def _counted_whole(trial: Complete, seen: LockCounts | None, whose: str) -> Iterator[Doubt]:
    """Of either side: all of its calls found room, over just the operations that were watched."""
    watched = trial.evidence.watched_operations
    if seen is None:
        yield Doubt("unknown", f"it is not known which locks the {whose} took")
        return
    if seen.lost:
        yield Doubt(
            "invalid", f"{text.counted(seen.lost, 'call')} for a lock found no room where they are counted"
        )
    if seen.operations != watched:
        yield Doubt(
            "invalid",
            f"locks were counted over {text.counted(seen.operations, 'operation')}, and {watched} "
            f"{text.was(watched)} watched",
        )
