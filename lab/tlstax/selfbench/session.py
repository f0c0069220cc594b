"""What the server of held connections says of itself."""

from __future__ import annotations

from tlstax.mysql import tls_switch
from tlstax.run.bench import Bench
from tlstax.selfbench.records import ServerFacts


def server_facts(bench: Bench) -> ServerFacts:
    """What the server says of itself."""
    server = bench.server
    return ServerFacts(
        name=server.specimen.name,
        version=server.version,
        tls_library_version=server.tls_library_version,
        tls_versions=tls_switch.session_versions(bench.admin),
    )
