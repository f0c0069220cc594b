"""Two sides become a study: servers with twins, new in every block; what cannot be is one sentence."""

from __future__ import annotations

import pytest

from tlstax.contract import OpenLoop
from tlstax.plan.order import blocks, cases
from tlstax.plan.sittings import sittings
from tlstax.plan.timing import OVERHEAD_IN_TURNS_S, TRIAL_OVERHEAD_S, block_s, trial_duration_s
from tlstax.plan.turns import takes_turns
from tlstax.study import Study, load_study, study_toml
from tlstax.study.files import parse_study
from tlstax.study.labels import full_label
from tlstax.study.two_sides import side_of, two_sided
from tlstax.support.errors import UserMistake


def of(a: list[str], b: list[str], *, precision: float = 0.01, **common: tuple[str, ...]) -> Study:
    return two_sided(side_of(a, "--a"), side_of(b, "--b"), common, precision=precision)


def test_two_servers_have_a_twin_each_and_the_first_a_control() -> None:
    study = of(["server=mysql-9.7"], ["server=mariadb-11.8"], workload=("point-select",))
    assert study.new_processes
    assert [full_label(case, study).split(", TLS 1.3")[0] for case in cases(study)] == [
        "mysql-9.7",
        "mysql-9.7 again (control)",
        "mysql-9.7, a second one",
        "mariadb-11.8, number 3",
        "mariadb-11.8, number 4",
    ]
    assert {case.levels.tls for case in cases(study)} == {"1.3"}


def test_of_four_processes_two_means_are_compared_which_scatter_less() -> None:
    assert of(["server=a"], ["server=b"]).precision == pytest.approx(0.01 * 2**0.5)
    assert of(["tls=1.2"], ["tls=1.3"]).precision == 0.01


def test_one_server_that_is_asked_in_two_ways_needs_no_twin() -> None:
    study = of(["tls=1.2"], ["tls=1.3-resumed"], workload=("reconnect",))
    assert "instance" not in study.levels_of()
    assert [full_label(case, study).split(", recon")[0] for case in cases(study)] == [
        "TLS 1.2",
        "TLS 1.2 again (control)",
        "TLS 1.3 resumed",
    ]


def test_what_one_side_alone_names_is_plain_on_the_other() -> None:
    study = of(["server=mysql-9.7"], ["server=mysql-9.7", "tls_library=openssl-3.6"])
    assert study.sides is not None
    assert study.sides.a == {"server": "mysql-9.7", "tls_library": "own"}
    assert study.sides.b == {"server": "mysql-9.7", "tls_library": "openssl-3.6"}


def test_a_thing_beside_itself_has_four_processes() -> None:
    study = of(["server=mysql-9.7"], ["server=mysql-9.7"], workload=("point-select",))
    assert len({case.levels.server_choice for case in cases(study)}) == 4


def test_new_processes_take_time_of_each_block() -> None:
    study = of(["server=a"], ["server=b"])
    again = study.model_copy(update={"new_processes": False})
    assert block_s(study, cases(study), 0.1) == pytest.approx(block_s(again, cases(study), 0.1) + 4 * 2.0)


def test_a_process_for_each_trial_takes_time_of_each_and_no_turns() -> None:
    memory = load_study("memory")
    again = memory.model_copy(update={"new_processes": False})
    number = len(cases(memory))
    windows_s = number * (0.5 - 0.1)
    in_turns = [case.levels for case in cases(again) if takes_turns(case.levels, again)]
    assert in_turns, "connections that are few enough"
    ready_s = len(in_turns) * (TRIAL_OVERHEAD_S - OVERHEAD_IN_TURNS_S)
    assert block_s(memory, cases(memory), 0.1) == pytest.approx(
        block_s(again, cases(again), 0.1) + number * 2.0 + windows_s + ready_s
    )
    assert not any(takes_turns(case.levels, memory) for case in cases(memory))
    assert not sittings(memory, next(blocks(memory, 1)), 0.5)[0].takes_turns


@pytest.mark.parametrize(("mode", "longest_s"), [("closed", 1.0), ("open", 10.0)])
def test_few_blocks_of_a_large_budget_have_no_longer_trials_than_are_needed(
    mode: str, longest_s: float
) -> None:
    study = load_study("memory").model_copy(update={"budget_s": 36_000.0})
    if mode == "open":
        study = study.model_copy(update={"schedule": OpenLoop(rate_per_s=5.0)})
    assert trial_duration_s(study, cases(study)) == longest_s


def test_such_a_study_is_a_file_like_any_other() -> None:
    study = of(["configuration=default"], ["configuration=performance_schema=OFF"])
    assert parse_study(study_toml(study), where="ab.toml") == study
    assert "new_processes" not in study_toml(load_study("tax"))
    memory = load_study("memory")
    assert parse_study(study_toml(memory), where="memory.toml") == memory
    assert 'new_processes = "trial"' in study_toml(memory)


@pytest.mark.parametrize(
    ("a", "b", "common", "words"),
    [
        ([], ["server=b"], {}, "--a is missing"),
        (["server"], ["server=b"], {}, "--a: 'server' names no level"),
        (["srver=a"], ["server=b"], {}, "there is no factor 'srver'"),
        (["instance=1"], ["instance=2"], {}, "instance tells the processes of a side apart"),
        (["server=a", "server=b"], ["server=b"], {}, "server is given twice"),
        (["server=a"], ["tls_library=x"], {}, "--b says nothing of server"),
        (["tls=1.2"], ["tls=1.3"], {"tls": ("1.3",)}, "--tls is for both sides"),
        (["resumption=off"], ["resumption=on"], {"tls": ("1.3-resumed",)}, "both sides resume"),
        (["tls=1.4"], ["tls=1.3"], {}, "'1.4' is not a level of tls"),
        (["configuration=bind_address=0.0.0.0"], ["configuration=default"], {}, "keeps a private server"),
    ],
)
def test_what_cannot_be_is_said(
    a: list[str], b: list[str], common: dict[str, tuple[str, ...]], words: str
) -> None:
    with pytest.raises(UserMistake, match=words):
        of(a, b, **common)


def test_sides_that_no_case_is_left_of_are_said() -> None:
    planted = ["fault=burn", "burn=0ns", "tls=1.3"]
    with pytest.raises(UserMistake, match=r"--a, --b: nothing is left to measure"):
        of(planted, [*planted[:1], "burn=9ns", "tls=1.3"])


def test_sides_of_a_file_have_levels_that_it_has() -> None:
    text = study_toml(of(["tls=1.2"], ["tls=1.3"])).replace('b = { tls = "1.3" }', 'b = { tls = "1.1" }')
    text = text.replace('[sides.b]\ntls = "1.3"', '[sides.b]\ntls = "1.1"')
    with pytest.raises(UserMistake, match=r"sides\.b: tls has no level '1\.1'"):
        parse_study(text, where="ab.toml")


def test_what_was_given_by_set_is_not_told_as_an_option_that_was_not_typed() -> None:
    a, b = side_of(["server=mysql-9.7"], "--a"), side_of(["server=mariadb-11.8"], "--b")
    for factor, level in (("tls", "1.7"), ("compression", "most")):
        with pytest.raises(UserMistake, match=f"^--set {factor}"):
            two_sided(a, b, {factor: (level,)}, precision=0.01, by_set=[factor])
