"""A cost of known size planted in real servers: it is proved turn by turn, and found."""

from __future__ import annotations

from pathlib import Path

import pytest
from planted import planted_ratio

from tlstax.plan.jobs import job_for
from tlstax.records.trial import StoredRun, Trial, TrialRecord
from tlstax.results.live import LiveRun
from tlstax.run.bench import Needs, Wanted, open_private_bench
from tlstax.run.pipeline import run
from tlstax.run.preparing import Request
from tlstax.run.progress import Step
from tlstax.run.trial import run_trial
from tlstax.specimens import loading, server_process
from tlstax.specimens.resolve import named_fault
from tlstax.specimens.server_build import Fault, ServerBuild
from tlstax.specimens.shared_pages import BurnPage
from tlstax.stats import slices
from tlstax.store import Store
from tlstax.study import Case, Level, Study
from tlstax.study.factors import CaseLevels

BURN = "100000ns"
"""Several times what a point select costs a server: no noise hides it, on any machine."""

NEEDS = Needs(rows=1000, connections=4, seed=1, duration_s=0.1)


class Quiet:
    """Nobody watches."""

    def step(self, text: str) -> None: ...

    def warn(self, text: str) -> None: ...

    def noted(self, live: LiveRun) -> None: ...

    def close(self) -> None: ...

    def trial(self, step: Step) -> None: ...


@pytest.fixture(scope="module")
def fault() -> Fault:
    return named_fault("burn", lambda _: None)


def study(server: str) -> Study:
    return Study.model_validate(
        {
            "name": "burning",
            "title": "Burning",
            "question": "What is found?",
            "factors": {
                "burn": ("off", "0ns", BURN),
                "fault": ("burn",),
                "server": (server,),
                "tls": ("off",),
                "connections": (4,),
            },
            "baseline": {"burn": "off"},
            "rows": 1000,
            "budget_s": 4.0,
        }
    )


def cost_us(record: TrialRecord) -> float:
    return slices.values(record)["server_cpu_us_per_op"]


def least_us(found: StoredRun, burn: str) -> float:
    """What an operation costs the server in the block that was disturbed least: disturbance only adds."""
    return min(cost_us(record) for record in found.trials if record.trial.case.levels["burn"] == burn)


@pytest.mark.parametrize("server", [pytest.param("mysql_build", marks=pytest.mark.long), "mariadb_build"])
def test_a_planted_cost_is_found_in_turns_on_one_process(
    server: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    build: ServerBuild = request.getfixturevalue(server)
    with Store.open(tmp_path / "store.sqlite") as store:
        found = run(Request(study=study(build.specimen.name), seed=3, beside_others=True), store, Quiet())
    assert [record.verdict.reasons for record in found.trials if record.verdict.value != "valid"] == []
    assert len({record.claim.pid for record in found.trials if record.claim}) == 1
    for record in found.trials:
        taken, seen = record.slices, record.burned
        assert taken is not None
        assert seen is not None
        assert seen.calls[1:] == taken.finished, "one answer a point select"
        assert sum(seen.asked_ns) == sum(seen.calls) * record.trial.case.levels.burn_ns
        assert (sum(seen.burned_ns) > 0) == (record.trial.case.levels.burn == BURN)
    sound_us = least_us(found, "off")
    assert least_us(found, BURN) - sound_us > 0.8 * 100
    assert abs(least_us(found, "0ns") - sound_us) < 0.8 * 100
    planted, extra_ns = planted_ratio(found, BURN)
    assert extra_ns > 99_000, "by another clock than that which ends the burning"
    assert planted > 1


def trial_of(build: ServerBuild, fault: Fault, burn: str) -> TrialRecord:
    """A short trial by itself of a case with this amount."""
    levels: dict[str, Level] = {"tls": "off", "connections": 4, "fault": "burn", "burn": burn}
    with open_private_bench(NEEDS, lambda _: None, Wanted(build=build, fault=fault)) as bench:
        return run_trial(
            Trial(block=0, position=0, case=Case(levels=levels, role="treatment")),
            job_for(CaseLevels.of(levels), bench.terms, sequence=0),
            bench,
        )


def test_a_window_by_itself_is_one_turn(mariadb_build: ServerBuild, fault: Fault) -> None:
    assert any("mariadbd" in caller for caller in loading.reached(mariadb_build, None, fault))
    record = trial_of(mariadb_build, fault, "5000ns")
    assert record.verdict.value == "valid", record.verdict
    assert record.burned is not None
    assert record.done is not None
    assert record.burned.calls == (record.done.operations,)
    assert record.burned.asked_ns == (record.done.operations * 5000,)


def test_another_amount_than_the_cases_is_found_out(
    mariadb_build: ServerBuild, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = BurnPage.ask
    monkeypatch.setattr(BurnPage, "ask", lambda page, amount_ns: ask(page, 2 * amount_ns))
    verdict = trial_of(mariadb_build, fault, "5000ns").verdict
    assert verdict.value == "invalid"
    assert verdict.reasons[0].startswith("in 1 of 1 turns another amount was burned than 5000 ns a call: ")


def test_a_library_that_does_not_find_its_page_is_found_out(
    mariadb_build: ServerBuild, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_process, "BURN_VARIABLE", "TLSTAX_NOT_READ")
    verdict = trial_of(mariadb_build, fault, "5000ns").verdict
    assert verdict.value == "invalid"
    assert verdict.reasons == ("nothing of the server called the fault burn",)
