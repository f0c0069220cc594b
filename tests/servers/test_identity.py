"""Chains, files of authorities and client certificates on real servers are as their cases have it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Home

from tlstax.records.trial import TrialRecord
from tlstax.specimens.server_build import ServerBuild
from tlstax.stats.outcomes import outcome
from tlstax.store import Store

STUDY = """
name = "identity-test"
title = "Who one is"
question = "Is each case what it says?"
treatments = [
{treatments}
]
baseline = {{ certificate = "ec-p256", chain = 1, client_certificate = "off", trust = 1 }}
deciding_outcome = "server_cpu_us_per_op"
precision = 0.5
confidence = 0.95
budget_s = 6
minimum_blocks = 2
rows = 500

[factors]
server = ["{server}"]
client_tls_library = ["{library}"]
tls = ["1.3"]
workload = ["reconnect"]
connections = [1]
"""

OWN = (
    ("ec-p256", 1, "off", 1),
    ("ec-p256", 3, "off", 1),
    ("ec-p256", 1, "on", 1),
    ("ec-p256", 1, "off", 16),
)


def study(file: Path, server: str, library: str, treatments: tuple[tuple[str, int, str, int], ...]) -> Path:
    rows = (
        f'{{ certificate = "{key}", chain = {chain}, client_certificate = "{client}", trust = {trust} }},'
        for key, chain, client, trust in treatments
    )
    file.write_text(STUDY.format(server=server, library=library, treatments="\n".join(rows)))
    return file


def records(home: Home) -> tuple[TrialRecord, ...]:
    with Store.open(home.data / "store.sqlite") as store:
        (summary,) = store.runs()
        return store.load(summary.run).measured


def run(home: Home, file: Path) -> tuple[dict[str, Any], str]:
    done = home.run("study", "run", str(file), "--over-budget", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def assert_each_is_its_case(home: Home, document: dict[str, Any]) -> None:
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0, document["caveats"]
    for record in records(home):
        case = record.trial.case.levels
        assert record.ready is not None
        assert record.server is not None
        for seen in record.ready.negotiated:
            assert seen.client is not None
            assert seen.client.certificates_sent == case.chain
            assert seen.client.authorities == case.trust
            assert seen.client.client_certificate == (case.client_certificate == "on")
        assert record.server.demands_certificate == (case.client_certificate == "on")


@pytest.mark.long
@pytest.mark.parametrize("product", ["mysql_build", "mariadb_build"])
def test_what_both_sides_show_is_what_the_case_says(
    request: pytest.FixtureRequest, tmp_path: Path, product: str
) -> None:
    build: ServerBuild = request.getfixturevalue(product)
    home = Home(tmp_path / "data")
    document, _ = run(home, study(tmp_path / "study.toml", build.specimen.name, "own", OWN))
    assert_each_is_its_case(home, document)
    received = {
        (own.chain, own.client_certificate): outcome(record, "bytes_received_per_connect")
        for record in records(home)
        if (own := record.trial.case.levels).trust == 1
    }
    alone, long, asked = received[1, "off"], received[3, "off"], received[1, "on"]
    assert alone is not None
    assert long is not None
    assert asked is not None
    # Two more certificates on P-256 have some 450 bytes each.
    assert 700 < long - alone < 1200


@pytest.mark.long
@pytest.mark.builds("openssl-3.6")
def test_ml_dsa_signs_at_mariadb_and_mysql_refuses_it_in_a_sentence(
    tmp_path: Path, mariadb_build: ServerBuild, mysql_build: ServerBuild
) -> None:
    keys = (("ec-p256", 1, "off", 1), ("mldsa65", 3, "on", 1), ("mldsa87", 1, "off", 1))
    home = Home(tmp_path / "data")
    file = study(tmp_path / "study.toml", mariadb_build.specimen.name, "openssl-3.6", keys)
    document, _ = run(home, file)
    assert_each_is_its_case(home, document)
    shown = {
        seen.client.certificate_key
        for record in records(home)
        if record.ready
        for seen in record.ready.negotiated
        if seen.client
    }
    assert shown == {"EC P-256", "ML-DSA-65", "ML-DSA-87"}
    other = Home(tmp_path / "other")
    file = study(tmp_path / "other.toml", mysql_build.specimen.name, "openssl-3.6", keys)
    document, said = run(other, file)
    assert {record.trial.case.levels.certificate for record in records(other)} == {"ec-p256"}
    assert said.count("left out: ML-DSA") == 2
    assert "alert 40" in said
