"""The parts of a connection to PostgreSQL, measured on a real one: proved, and each with its round trips."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Home

from tlstax.study.mixes import Mix
from tlstax.topics.prediction.model import ROUND_TRIPS, SERVER_CPU, mixes_of


def mix(**fields: str) -> Mix:
    """As in the clear, to an account that proves nothing, but for these."""
    plain = {"product": "postgresql", "tls": "off", "auth": "trust", "statements": 1, "answer_bytes": 120}
    return Mix.model_validate(plain | fields)


ROUND_TRIPS_MORE = {
    mix(auth="md5"): 1,
    mix(auth="default"): 2,
    mix(auth="default", protocol="prepared"): 2 + 1,
    mix(tls="1.3"): 1 + 1,
    mix(tls="1.2", auth="default"): 1 + 2 + 2,
    mix(tls="1.3-direct", auth="default"): 1 + 2,
    mix(tls="1.3", auth="cert", client_certificate="on"): 1 + 1,
}
"""SSLRequest takes one, TLS 1.3 one and 1.2 two, SCRAM two, preparing one; whatever the machine does."""


@pytest.mark.usefixtures("postgresql_build")
def test_each_part_is_proved_and_takes_its_round_trips(tmp_path: Path) -> None:
    home = Home(tmp_path / "data")
    treatments = [table(own.levels()) for own in (mix(), *ROUND_TRIPS_MORE)]
    study = tmp_path / "parts.toml"
    study.write_text(
        'name = "parts"\ntitle = "Parts"\nquestion = "What does each take?"\nrows = 100\nminimum_blocks = 1\n'
        f"treatments = [{', '.join(treatments)}]\nbaseline = {treatments[0]}\n"
        '[factors]\nserver = ["postgresql-18"]\nconnections = [1]\n',
        encoding="utf-8",
    )
    done = home.run("study", "run", str(study), "--budget", "2s", "--over-budget")
    assert done.returncode == 0, done.stderr
    with home.store() as store:
        stored = store.load("last")
    assert {(own.verdict.value, own.verdict.reasons) for own in stored.trials} == {("valid", ())}
    found = {own.mix: own.values for own in mixes_of(stored)}
    assert all(values[SERVER_CPU] > 0 for values in found.values())
    more = {own: found[own][ROUND_TRIPS] - found[mix()][ROUND_TRIPS] for own in ROUND_TRIPS_MORE}
    assert more == pytest.approx(ROUND_TRIPS_MORE)


def table(levels: dict[str, str | int | float]) -> str:
    """Levels as an inline table of TOML."""
    return f"{{ {', '.join(f'{name} = {json.dumps(level)}' for name, level in levels.items())} }}"
