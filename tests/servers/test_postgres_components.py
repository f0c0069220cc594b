"""The parts of a connection to PostgreSQL, measured on a real one: proved, and each with its round trips."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Home

from tlstax.study.mixes import Mix
from tlstax.topics.prediction.model import ROUND_TRIPS, SERVER_CPU, mixes_of

ONE_SERVER = ("path=direct", "certificate=rsa-2048", "chain=1", "workload=session-1x120", "connections=1")


@pytest.mark.usefixtures("postgresql_build")
def test_each_part_is_proved_and_takes_its_round_trips(tmp_path: Path) -> None:
    """What a connection takes beside one that proves and encrypts nothing, whatever the machine does."""
    home = Home(tmp_path / "data")
    sets = [word for level in ONE_SERVER for word in ("--set", level)]
    done = home.run("study", "run", "postgres-components", *sets, "--budget", "4s", "--over-budget")
    assert done.returncode == 0, done.stderr
    with home.store() as store:
        stored = store.load("last")
    assert {(own.verdict.value, own.verdict.reasons) for own in stored.trials} == {("valid", ())}
    found = {own.mix: own.values for own in mixes_of(stored)}
    assert all(values[SERVER_CPU] > 0 for values in found.values())

    def more(**fields: str) -> float:
        levels = {
            "product": "postgresql",
            "tls": "off",
            "auth": "trust",
            "statements": 1,
            "answer_bytes": 120,
        }
        plain = Mix.model_validate(levels)
        return round(found[Mix.model_validate(levels | fields)][ROUND_TRIPS] - found[plain][ROUND_TRIPS], 3)

    assert more(auth="md5") == 1
    assert more(auth="default") == 2
    assert more(auth="default", protocol="prepared") == 2 + 1
    assert more(tls="1.3") == 1 + 1
    assert more(tls="1.2", auth="default") == 1 + 2 + 2
    assert more(tls="1.3-direct", auth="default") == 1 + 2
    assert more(tls="1.3", auth="cert", client_certificate="on") == 1 + 1
