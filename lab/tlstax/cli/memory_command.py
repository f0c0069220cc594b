"""`tlstax memory`: its options into a request, what is shown meanwhile, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tlstax.cli import quantities
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.progress import ProgressLine
from tlstax.cli.streams import show_found
from tlstax.probes.memory.measure import MemoryRequest, memory, sizes_of
from tlstax.probes.memory.table import memory_text
from tlstax.study.factors import check_factor, check_level
from tlstax.study.level_names import DEFAULT_CERTIFICATE


@dataclass(frozen=True)
class MemoryOptions:
    """The options of `tlstax memory` as they were typed."""

    server: str | None = None
    tls_library: str | None = None
    certificate: str = DEFAULT_CERTIFICATE
    connections: str = "100,500,2000"
    rounds: int = 3
    seed: int | None = None
    beside_others: bool = False
    json: bool = False


def memory_command(options: MemoryOptions) -> int:
    """Measure and show it; the exit status. UserMistake for an option that cannot be."""
    factor = check_factor("certificate", where="--certificate")
    certificates = quantities.names(options.certificate, "--certificate")
    request = MemoryRequest(
        sizes=sizes_of(options.connections.split(",")),
        rounds=options.rounds,
        servers=_names(options.server, "--server"),
        tls_libraries=_names(options.tls_library, "--tls-library"),
        certificates=tuple(str(check_level(factor, name, where="--certificate")) for name in certificates),
        seed=options.seed,
        beside_others=options.beside_others,
    )
    line = ProgressLine(quiet=options.json)
    try:
        found = memory(request, line)
    finally:
        line.close()
    show_found(found, partial(memory_text, found), as_json=options.json)
    return INTERRUPTED if found.status == "interrupted" else 0


def _names(text: str | None, option: str) -> tuple[str | None, ...]:
    return (None,) if text is None else quantities.names(text, option)
