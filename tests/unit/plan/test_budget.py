"""A budget with no room for two blocks is refused, and the sentence names what would fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_trials import whole_tax
from tlstax.cli.quantities import names, seconds
from tlstax.plan.budget import check_budget, least_budget, no_room, what_fits
from tlstax.plan.order import cases
from tlstax.plan.timing import SHORTEST_S, block_s
from tlstax.study import Study, built_in_studies, load_study, override
from tlstax.study.design import LONGEST_BUDGET_S
from tlstax.study.workloads.user_defined import UserStatement, UserTransaction, UserWorkload
from tlstax.support.errors import UserMistake

TAX = whole_tax()


def counting(*queries: int, budget_s: float, connections: tuple[int, ...] = (1,)) -> Study:
    """Queries counted, in the clear and under TLS 1.3: three trials for each number of each."""
    return Study(
        name="counting",
        title="",
        question="?",
        factors={
            "tls": ("off", "1.3"),
            "workload": ("point-select",),
            "connections": connections,
            "queries": queries,
        },
        baseline={"tls": "off"},
        budget_s=budget_s,
    )


def shortest(study: Study) -> float:
    """How long a block of the shortest trials takes."""
    return block_s(study, cases(study), SHORTEST_S)


def test_the_studies_below_take_what_they_should() -> None:
    """Three trials, each with 0.07 s besides, a connection (two clear, one encrypted), 0.2 ms a query."""
    assert shortest(counting(1000, budget_s=1)) == pytest.approx(3 * (0.07 + 0.2) + 2 * 0.0005 + 0.0015)
    assert shortest(counting(100_000, budget_s=1)) == pytest.approx(60.2125)


def test_two_blocks_are_enough_and_less_is_not() -> None:
    two_s = 2 * shortest(counting(1000, budget_s=1))
    enough = counting(1000, budget_s=two_s)
    assert no_room(enough, two_s / 2) == ""
    check_budget(enough)
    with pytest.raises(UserMistake):
        check_budget(counting(1000, budget_s=two_s - 0.001))


@pytest.mark.parametrize(
    ("study", "sentence"),
    [
        (
            counting(1000, budget_s=1.5),
            "the budget of 1.5 s has no room for two blocks, the fewest that give an interval: one block of "
            "3 trials takes about 0.81 s; give --budget 2s or --set queries=500, or run it anyway with "
            "--over-budget",
        ),
        (
            counting(100_000, budget_s=60),
            "the budget of 60 s has no room for two blocks, the fewest that give an interval: one block of "
            "3 trials takes about 60 s; give --budget 130s or --set queries=20000, or run it anyway with "
            "--over-budget",
        ),
        (
            counting(1000, budget_s=0.4),
            "the budget of 0.4 s has no room for two blocks, the fewest that give an interval: one block of "
            "3 trials takes about 0.81 s; give --budget 2s, or run it anyway with --over-budget",
        ),
        (
            counting(10**12, budget_s=0.4),
            "the budget of 0.4 s has no room for two blocks, the fewest that give an interval: one block of "
            "3 trials takes about 166,666.7 h; measure less, or run it anyway with --over-budget",
        ),
    ],
    ids=["a little more", "a lot more", "too small for fewer queries", "no budget is enough"],
)
def test_a_refusal_says_what_one_block_takes_and_what_fits(study: Study, sentence: str) -> None:
    with pytest.raises(UserMistake) as caught:
        check_budget(study)
    assert caught.value.sentence() == sentence


@pytest.mark.parametrize(
    ("study", "fits"),
    [
        (counting(1000, 900, budget_s=7, connections=(1, 2, 3)), ("--budget 10s", "--set connections=1,2")),
        (counting(100_000, budget_s=200, connections=(8, 1)), ("--budget 250s", "--set queries=50000")),
        (counting(1000, 100, 10_000, budget_s=3), ("--budget 15s", "--set queries=1000,100")),
        (counting(10_000, 1000, budget_s=2), ("--budget 15s", "--set queries=1000")),
        (counting(10_000, 1000, budget_s=1), ("--budget 15s", "--set queries=200")),
        (counting(9, budget_s=0.4), ("--budget 1s",)),
    ],
    ids=["queries stay", "connections stay", "two of three", "one of two", "fewer still", "no fewer"],
)
def test_what_fits_leaves_as_many_cases_as_can_be(study: Study, fits: tuple[str, ...]) -> None:
    assert what_fits(study) == fits


def test_run_names_its_own_options() -> None:
    """Connections, workloads: `run` has no --set. What the baseline names is what is compared, and stays."""
    two = override(TAX, "connections", ["1", "8"]).model_copy(update={"budget_s": 5.0})
    assert what_fits(two, own_options=True) == ("--budget 9s", "--connections 1")
    assert what_fits(two) == ("--budget 9s", "--set connections=1")
    queries = override(two, "queries", ["1000000"])
    assert len(what_fits(queries)) == 2
    assert len(what_fits(queries, own_options=True)) == 1

    with pytest.raises(UserMistake) as caught:
        check_budget(two, own_options=True)
    assert "give --budget 9s or --connections 1, or" in caught.value.sentence()
    far = override(override(TAX, "workload", ["point-select"]), "rtt_ms", ["0", "45"])
    assert what_fits(far.model_copy(update={"budget_s": 3.0}), own_options=True)[1:] == ("--rtt-ms 0",)


def test_what_takes_longest_is_left_out_and_what_just_fits_stays() -> None:
    """A trial that inserts has its table put back; its name comes first by the alphabet."""
    writing = override(TAX, "workload", ["insert", "point-select"]).model_copy(update={"budget_s": 4.0})
    assert what_fits(writing)[1:] == ("--set workload=point-select",)
    just_s = 2 * shortest(counting(1000, budget_s=1))
    assert what_fits(counting(1000, 3000, budget_s=just_s))[1:] == ("--set queries=1000",)
    tenth_s = 2 * shortest(counting(100, budget_s=1))
    assert what_fits(counting(1000, budget_s=tenth_s))[1:] == ("--set queries=100",)
    assert what_fits(counting(100, budget_s=tenth_s / 1.01))[1:] == ("--set queries=50",)


def test_workloads_of_the_users_own_are_not_named() -> None:
    """They may have been given as a file, by whose name they would have to be given again."""
    small = TAX.model_copy(update={"budget_s": 2.5})
    assert what_fits(small, own_options=True) == ("--budget 5s", "--workload point-select")
    own = UserWorkload(
        name="mine", transactions=(UserTransaction(statements=(UserStatement(sql="SELECT 1"),)),)
    )
    assert what_fits(small.model_copy(update={"workloads": {"mine": own}})) == ("--budget 5s",)


def test_options_of_drivers_are_not_named() -> None:
    """Their levels are any words, some of which would have to be quoted."""
    drivers = override(override(TAX, "client", ["pymysql-1.1"]), "option.charset", ["utf8mb4", "latin1"])
    drivers = override(drivers, "workload", ["reconnect"]).model_copy(update={"budget_s": 30.0})
    assert len(what_fits(drivers)) == 1


@pytest.mark.parametrize(
    ("least_s", "words"),
    [
        (0.2, "1s"),
        (1.0, "1s"),
        (119.5, "120s"),
        (120.0, "120s"),
        (120.1, "130s"),
        (320.0, "320s"),
        (590.0, "590s"),
        (591.0, "10m"),
        (600.0, "10m"),
        (601.0, "11m"),
        (7140.0, "119m"),
        (7199.0, "2h"),
        (7200.0, "2h"),
        (7200.1, "2.25h"),
        (18385.5, "5.25h"),
        (LONGEST_BUDGET_S, "10000h"),
        (LONGEST_BUDGET_S + 1, ""),
    ],
)
def test_a_budget_is_rounded_up_in_the_words_that_the_option_takes(least_s: float, words: str) -> None:
    assert least_budget(least_s) == words


@given(st.floats(min_value=0.001, max_value=LONGEST_BUDGET_S))
def test_a_budget_that_is_named_is_enough_and_not_much_more(least_s: float) -> None:
    found_s = seconds(least_budget(least_s), "--budget")
    assert least_s <= found_s <= max(1.0, least_s + 1, least_s * 1.13)


@pytest.mark.parametrize("name", built_in_studies())
@pytest.mark.parametrize("profile", [False, True], ids=["plain", "profiled"])
def test_what_is_named_for_a_built_in_study_fits(name: str, profile: bool) -> None:
    study = load_study(name).model_copy(update={"profile": profile})
    least_s = 2 * shortest(study)
    small = study.model_copy(update={"budget_s": least_s / 2})
    for words in what_fits(small):
        option, value = words.split()
        if option == "--budget":
            changed = small.model_copy(update={"budget_s": seconds(value, option)})
        else:
            factor, _, levels = value.partition("=")
            changed = override(small, factor, names(levels, option))
        check_budget(changed)


@pytest.mark.parametrize("name", built_in_studies())
def test_every_built_in_study_fits_its_own_budget(name: str) -> None:
    study = load_study(name)
    assert study.minimum_blocks >= 2
    check_budget(study)
