"""`setup/renew-parts`: what comes with tlstax of a server's parts is written from a run, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_trials import Truth, fake_run
from planted_parts import cost_of
from tlstax.cli.shipped_parts import renew
from tlstax.records.trial import StoredRun
from tlstax.store import open_store
from tlstax.study import Case, load_study, override
from tlstax.study.mixes import Mix
from tlstax.support.errors import UserMistake
from tlstax.topics.prediction.model import SERVER_CPU
from tlstax.topics.prediction.other_machines import ShippedParts
from tlstax.topics.prediction.parts import parts_of


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))


def truth(case: Case) -> Truth:
    mix = Mix.of(case.levels)
    assert mix is not None
    cost = cost_of(parts_of(mix))
    return Truth(1e6 / cost, {"connect": cost / 2, "query": cost / 2, "operation": cost}, cost, cost / 2)


def kept(stored: StoredRun) -> str:
    with open_store() as store:
        store.adopt(stored)
    return stored.header.run


def test_a_run_becomes_the_file_of_its_server(tmp_path: Path) -> None:
    study = override(load_study("components"), "path", ["direct"])
    run = kept(fake_run(study, number_of_blocks=2, noise=0.0, truth=truth, invalid=False))
    file = renew(run, "in the quiet", tmp_path)
    found = ShippedParts.model_validate_json(file.read_text())
    assert file.name == "parts-mysql-9.7.json"
    assert (found.run, found.processor, found.remark) == (run, "Fake CPU @ 3.00GHz", "in the quiet")
    assert found.server_version == "9.7.4-1"
    mix = Mix(certificate="rsa-4096", statements=3, answer_bytes=500)
    predicted = found.calibrated().busy[SERVER_CPU].predicted(parts_of(mix))
    assert predicted.point == pytest.approx(cost_of(parts_of(mix)), rel=1e-3)


def test_a_run_at_postgresql_becomes_the_file_of_its_server(tmp_path: Path) -> None:
    study = override(load_study("postgres-components"), "path", ["direct"])

    def at_postgresql(case: Case) -> Truth:
        mix = Mix.of(case.levels, "postgresql")
        assert mix is not None
        cost = cost_of(parts_of(mix))
        return Truth(1e6 / cost, {"connect": cost / 2, "query": cost / 2, "operation": cost}, cost, cost / 2)

    stored = fake_run(study, number_of_blocks=1, noise=0.0, truth=at_postgresql, invalid=False)
    server = stored.header.specimens[0].model_copy(update={"kind": "server", "name": "postgresql-18"})
    header = stored.header.model_copy(update={"specimens": (server,)})
    file = renew(kept(stored.model_copy(update={"header": header})), "", tmp_path)
    assert file.name == "parts-postgresql-18.json"
    found = ShippedParts.model_validate_json(file.read_text())
    assert {own.mix.product for own in found.mixes} == {"postgresql"}
    mix = Mix(product="postgresql", tls="1.3-direct", auth="md5", statements=3, answer_bytes=500)
    predicted = found.calibrated().busy[SERVER_CPU].predicted(parts_of(mix))
    assert predicted.point == pytest.approx(cost_of(parts_of(mix)), rel=1e-3)


def test_what_is_no_complete_run_of_a_known_server_is_refused(tmp_path: Path) -> None:
    study = load_study("components")
    cut = fake_run(study, number_of_blocks=1, truth=truth, invalid=False)
    run = kept(cut.model_copy(update={"status": "interrupted"}))
    with pytest.raises(UserMistake, match="no complete one"):
        renew(run, "", tmp_path)
    other = fake_run(
        override(study, "server", ["mysql-8.0.33"]), number_of_blocks=1, truth=truth, invalid=False
    )
    named = other.header.model_copy(update={"run": "20261121-195501-ab12"})
    with pytest.raises(UserMistake, match=r"measured mysql-8\.0\.33"):
        renew(kept(other.model_copy(update={"header": named})), "", tmp_path)
    assert not list(tmp_path.glob("parts-*"))
