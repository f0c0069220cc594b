"""A server gets as many processors as its case says, and the kernel is asked whether it has."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_sitting import Watching

from tlstax.run.pipeline import run
from tlstax.run.preparing import Request
from tlstax.specimens.server_build import ServerBuild
from tlstax.store import Store
from tlstax.study import Level, Study
from tlstax.support.errors import UserMistake


def study(server: str, *processors: int) -> Study:
    factors: dict[str, tuple[Level, ...]] = {
        "tls": ("off", "1.3"),
        "server_cpus": processors,
        "server": (server,),
        "connections": (2,),
    }
    return Study.model_validate(
        {
            "name": "processors",
            "title": "Processors",
            "question": "What do two do?",
            "factors": factors,
            "baseline": {"tls": "off"},
            "rows": 1000,
            "budget_s": 2.0,
        }
    )


def test_each_server_may_use_its_number_of_processors(tmp_path: Path, mariadb_build: ServerBuild) -> None:
    with Store.open(tmp_path / "store.sqlite") as store:
        request = Request(study=study(mariadb_build.specimen.name, 1, 2), seed=3, beside_others=True)
        found = run(request, store, Watching())
    assert [record.verdict.reasons for record in found.trials if record.verdict.value != "valid"] == []
    assert {
        (record.trial.case.levels.server_cpus, record.server.allowed_cpus)
        for record in found.trials
        if record.server is not None
    } == {(1, 1), (2, 2)}


def test_more_than_there_are_are_refused_before_a_server_is_started(
    tmp_path: Path, mariadb_build: ServerBuild
) -> None:
    said = Watching()
    with Store.open(tmp_path / "store.sqlite") as store:
        request = Request(study=study(mariadb_build.specimen.name, 1, 4097), seed=3, beside_others=True)
        with pytest.raises(UserMistake, match="cannot have 4097 processors"):
            run(request, store, said)
        assert store.runs() == []
