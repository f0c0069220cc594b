"""Instructions are hidden from OpenSSL at a real server and its client, and that is proved of each trial."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_sitting import Watching

from tlstax.clients.engine import engine_command
from tlstax.records.trial import StoredRun
from tlstax.run.bench import Bench
from tlstax.run.pipeline import run
from tlstax.run.preparing import Request
from tlstax.specimens.server_build import ServerBuild
from tlstax.store import Store
from tlstax.study import Study
from tlstax.study.cpu_features import VARIABLE, environment
from tlstax.support.errors import MachineFault

LEVEL = "no-aesni"


def measured(tmp_path: Path, server: str) -> StoredRun:
    of = Study.model_validate(
        {
            "name": "older",
            "title": "Older",
            "question": "What is AES-NI worth?",
            "factors": {
                "tls": ("off", "1.3"),
                "cpu_features": ("own", LEVEL),
                "server": (server,),
                "connections": (2,),
            },
            "baseline": {"tls": "off"},
            "rows": 1000,
            "budget_s": 2.0,
        }
    )
    with Store.open(tmp_path / "store.sqlite") as store:
        try:
            return run(Request(study=of, seed=3, beside_others=True), store, Watching())
        except MachineFault:
            return store.load("last")


def test_both_sides_have_the_variable_of_the_case_and_no_other(
    tmp_path: Path, mariadb_build: ServerBuild
) -> None:
    found = measured(tmp_path, mariadb_build.specimen.name)
    assert [record.verdict.reasons for record in found.trials if record.verdict.value != "valid"] == []
    seen = {
        (record.trial.case.levels.cpu_features, record.server.ia32cap, record.client_ia32cap)
        for record in found.trials
        if record.server is not None
    }
    hidden = environment(LEVEL)[VARIABLE]
    assert seen == {("own", "", ""), (LEVEL, hidden, hidden)}


@pytest.mark.long
def test_a_client_that_finds_all_instructions_is_found_out(
    tmp_path: Path, mariadb_build: ServerBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bench, "command_of", lambda *_: engine_command())
    found = measured(tmp_path, mariadb_build.specimen.name)
    verdicts = {
        (record.trial.case.levels.cpu_features, record.verdict.value, *record.verdict.reasons)
        for record in found.trials
    }
    hidden = environment(LEVEL)[VARIABLE]
    why = f"{VARIABLE} of the client was not set, where it was to be {hidden}"
    assert verdicts == {("own", "valid"), (LEVEL, "invalid", why)}
