"""Two things in one run on real servers: each block has new processes, and options are proved in force."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_sitting import Watching

from tlstax.cli.ab_command import ab_study
from tlstax.cli.measure_app import AbOptions
from tlstax.mysql import server_facts
from tlstax.records.trial import StoredRun
from tlstax.run.pipeline import run
from tlstax.run.preparing import Request
from tlstax.specimens.server_build import ServerBuild
from tlstax.stats.limits import Limit, Limits
from tlstax.stats.series import series_of
from tlstax.store import Store
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.topics.two_sides import effects, gated_sides

CPU = "server_cpu_us_per_op"


def measured(tmp_path: Path, a: list[str], b: list[str], budget: str, **more: str) -> StoredRun:
    options = AbOptions(
        a=a, b=b, workload="point-select", connections="2", budget=budget, rows=1000, settings=[], **more
    )
    with Store.open(tmp_path / "store.sqlite") as store:
        try:
            return run(Request(study=ab_study(options), seed=1, beside_others=True), store, Watching())
        except MachineFault:
            return store.load("last")


def test_every_block_has_new_processes_of_both_sides(tmp_path: Path, mariadb_build: ServerBuild) -> None:
    name = mariadb_build.specimen.name
    asked = "performance_schema=ON table_open_cache=300"
    found = measured(tmp_path, [f"server={name}"], [f"server={name}", f"configuration={asked}"], "9s")
    assert [record.verdict.reasons for record in found.trials if record.verdict.value != "valid"] == []
    processes: dict[int, set[int]] = {}
    for record in found.trials:
        assert record.claim is not None
        processes.setdefault(record.trial.block, set()).add(record.claim.pid)
    assert len(processes) >= 2
    assert {len(pids) for pids in processes.values()} == {4}
    assert len(set.union(*processes.values())) == 4 * len(processes)
    in_force = {
        (record.trial.case.levels.configuration, tuple(record.server.variables.items()))
        for record in found.trials
        if record.server is not None
    }
    assert in_force == {
        ("default", ()),
        (asked, (("performance_schema", "ON"), ("table_open_cache", "300"))),
    }
    effect = next(effects(series_of(found), (CPU,)))
    assert effect.blocks == len(processes)
    # How wide the interval of so few blocks is, is chance: the limits are beside its own ends.
    assert effect.interval is not None
    assert effect.interval.between is not None
    low, high = effect.interval.between
    limits = {"PASS": high * 1.01, "INCONCLUSIVE": (low * high) ** 0.5, "FAIL": low * 0.99}
    for verdict, ratio in limits.items():
        assert gated_sides(found, Limits((Limit(outcome=CPU, most=ratio - 1),))).verdict == verdict


@pytest.mark.long
def test_an_option_that_is_not_in_force_is_found_out(
    tmp_path: Path, mariadb_build: ServerBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_facts, "variables", lambda *_: {"performance_schema": "OFF"})
    side = [f"server={mariadb_build.specimen.name}"]
    found = measured(tmp_path, side, [*side, "configuration=performance_schema=ON"], "1s")
    verdicts = {(r.trial.case.levels.configuration, r.verdict.value) for r in found.trials}
    assert verdicts == {("default", "valid"), ("performance_schema=ON", "invalid")}


@pytest.mark.long
def test_an_option_that_the_server_does_not_know_is_the_users_mistake(
    tmp_path: Path, mariadb_build: ServerBuild
) -> None:
    side = [f"server={mariadb_build.specimen.name}"]
    with pytest.raises(
        UserMistake, match=r"with no_such_thing=1, number 3 cannot be measured: .*unknown variable"
    ):
        measured(tmp_path, side, [*side, "configuration=no_such_thing=1"], "1s")


@pytest.mark.long
def test_a_planted_cost_fails_and_a_planted_nothing_passes(tmp_path: Path, mysql_build: ServerBuild) -> None:
    """A fifth more in each answer: far beyond what a busy machine hides."""
    side = [f"server={mysql_build.specimen.name}", "fault=burn", "burn=0ns"]
    limits = Limits((Limit(outcome=CPU, most=0.05),))
    nothing = measured(tmp_path / "nothing", side, side, "60s", tls="off")
    assert gated_sides(nothing, limits).verdict in {"PASS", "INCONCLUSIVE"}
    planted = measured(tmp_path / "planted", side, [*side[:2], "burn=30000ns"], "60s", tls="off")
    assert gated_sides(planted, limits).verdict == "FAIL"
