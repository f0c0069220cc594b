"""`tlstax memory`: its options into a request, what is shown meanwhile, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from tlstax.cli import quantities
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.lent_server import external_of
from tlstax.cli.progress import ProgressLine
from tlstax.cli.streams import show_found
from tlstax.guests.access import GuestOptions
from tlstax.probes.memory.external import external_memory
from tlstax.probes.memory.measure import MemoryRequest, memory, sizes_of
from tlstax.probes.memory.table import memory_text
from tlstax.study.factor import check_level
from tlstax.study.factors import check_factor
from tlstax.study.level_names import DEFAULT_CERTIFICATE
from tlstax.support.errors import UserMistake


@dataclass(frozen=True)
class MemoryOptions:
    """The options of `tlstax memory` as they were typed."""

    server: str | None = None
    tls_library: str | None = None
    certificate: str | None = None
    connections: str | None = None
    max_connections: int | None = None
    rounds: int = 3
    seed: int | None = None
    beside_others: bool = False
    json: bool = False
    external: GuestOptions = field(default_factory=lambda: GuestOptions(url=""))


CONNECTIONS = "100,500,2000"


def memory_command(options: MemoryOptions) -> int:
    """Measure and show it; the exit status. UserMistake for an option that cannot be."""
    if options.external.url:
        _check_external(options)
    access = external_of(options.external, options.max_connections)
    line = ProgressLine(quiet=options.json)
    try:
        if access is not None:
            found = external_memory(_request(options), access, options.max_connections, line)
        else:
            found = memory(_request(options), line)
    finally:
        line.close()
    show_found(found, partial(memory_text, found), as_json=options.json)
    return INTERRUPTED if found.status == "interrupted" else 0


def _check_external(options: MemoryOptions) -> None:
    """UserMistake for what an external server is not, or is not given."""
    for option, value, why in (
        ("--tls-library", options.tls_library, "an external one keeps the library it has"),
        ("--certificate", options.certificate, "an external one has a certificate"),
        (
            "--connections",
            options.connections,
            "an external one's are opened step by step, as many as --max-connections allows",
        ),
    ):
        if value is not None:
            raise UserMistake(f"{option} needs private servers: {why}", remedy="leave it out")


def _request(options: MemoryOptions) -> MemoryRequest:
    factor = check_factor("certificate", where="--certificate")
    certificates = quantities.names(options.certificate or DEFAULT_CERTIFICATE, "--certificate")
    return MemoryRequest(
        sizes=sizes_of(quantities.names(options.connections or CONNECTIONS, "--connections")),
        rounds=options.rounds,
        servers=_names(options.server, "--server"),
        tls_libraries=_names(options.tls_library, "--tls-library"),
        certificates=tuple(str(check_level(factor, name, where="--certificate")) for name in certificates),
        seed=options.seed,
        beside_others=options.beside_others,
    )


def _names(text: str | None, option: str) -> tuple[str | None, ...]:
    return (None,) if text is None else quantities.names(text, option)
