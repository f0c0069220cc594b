"""What a connection costs real servers in memory: more than nothing, and more under TLS."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Home

from tlstax.probes.memory.document import MemoryDocument
from tlstax.specimens.server_build import ServerBuild


@pytest.mark.long
@pytest.mark.parametrize("product", ["mysql_build", "mariadb_build"])
def test_each_further_connection_costs_memory_and_tls_more(
    request: pytest.FixtureRequest, tmp_path: Path, product: str
) -> None:
    build: ServerBuild = request.getfixturevalue(product)
    home = Home(tmp_path / "data")
    asked = ("memory", "--server", build.specimen.name, "--connections", "20,200", "--rounds", "1", "--json")
    done = home.run(*asked)
    assert done.returncode == 0, done.stderr
    found = MemoryDocument.model_validate(json.loads(done.stdout))
    by_kind = {kind.tls: kind.rss_bytes.point for kind in found.kinds}
    assert set(by_kind) == {"off", "1.3", "1.2"}
    # A thread's stack and buffers are tens of KiB; a TLS connection of OpenSSL is some tens more.
    assert by_kind["off"] > 10_000
    assert found.tls_adds["1.3"].point > 5_000
    assert [own.connections for own in found.held] == [20, 200] * 3
    assert all(own.threads > 1 for own in found.held)
