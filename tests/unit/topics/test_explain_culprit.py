"""The function that extra cost goes into, found in stacks whose costs are whole numbers of microseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from fake_samples import FAULT_STUDY
from sampled_trials import measured, profile, run_of, sampled
from tlstax.plan.order import cases
from tlstax.records.profiles.stacks import Frame
from tlstax.results.rows import Row
from tlstax.topics.explain.costs import Costs, Noise
from tlstax.topics.explain.culprit import (
    culprit,
    extra_stacks,
    functions,
    is_own,
)

BASE, TREATED = (case for case in cases(FAULT_STUDY) if case.role != "control")

ROOT = "_start [mysqld]"
WORK = f"{ROOT};work [mysqld]"
DRAW = f"{ROOT};draw [libtale.so]"
RANDOM = f"{DRAW};read [libc.so.6];chacha [kernel]"
NETWORK = f"{DRAW};send [libc.so.6];tcp_sendmsg [kernel]"
LOCKED = f"{ROOT};wait [mysqld];futex_wait [kernel]"
NOBODYS = "who [where]"
"""Stacks of the components `sessions`, `kernel random`, `kernel network`, `kernel scheduling`, and none."""

IN_RANDOM = ("server", "kernel random")
ORDINARY = 1000

Blocks = Sequence[Mapping[str, int]]


def costs(
    extra: Blocks,
    base: Mapping[str, int] | None = None,
    clients: Sequence[int] | None = None,
    ordinary: int = ORDINARY,
) -> Costs:
    """Two cases that differ by `extra` in each block; each sample of the server stands for one µs.

    `clients` is what the client of the treated case costs in each block more than a µs of its baseline's.
    """
    plain = {WORK: ordinary, **(base or {})}
    trials = []
    for block, more in enumerate(extra):
        stacks = {stack: plain.get(stack, 0) + more.get(stack, 0) for stack in {**plain, **more}}
        for case, server, client_us in (
            (BASE, plain, 1),
            (TREATED, stacks, 1 + (clients[block] if clients else 0)),
        ):
            client = {"loop [engine]": 9, "loop [engine];ask [libown.so];chacha [kernel]": client_us}
            trials += [
                measured(case, block, sum(server.values()), sum(client.values())),
                sampled(case, block, profile(server, client if clients else None)),
            ]
    return Costs(run_of(*trials, study=FAULT_STUDY))


def told(extra: Blocks, extra_us: float = 100, noise: Noise | None = None, **more: object) -> Row | None:
    known = costs(extra, **more)  # type: ignore[arg-type]
    return culprit(known, (TREATED, BASE), extra_us, noise, is_clear_as_a_whole=True)


def alone(extra: Blocks, extra_us: float = 1, noise: Noise | None = None) -> Row | None:
    return culprit(costs(extra), (TREATED, BASE), extra_us, noise, is_clear_as_a_whole=False)


def noise(us: float) -> Noise:
    """Noise of this size in one component."""
    return Noise(floor=0.0, by_place={IN_RANDOM: us})


def test_the_culprit_is_the_own_function_nearest_to_the_leaf() -> None:
    found = told([{RANDOM: 61}, {RANDOM: 59}])
    assert found is not None
    assert (found.more["function"], found.more["library"]) == ("draw", "libtale.so")
    assert (found.more["component"], found.more["side"], found.more["beneath"]) == (
        "kernel random",
        "server",
        "",
    )
    assert found.more["share"] == pytest.approx(0.6)
    assert found.difference.point == pytest.approx(60)
    assert (found.difference.blocks, found.difference.confidence) == (2, 0.95)
    assert found.difference.high == pytest.approx(60 + 25.4517, rel=1e-5)
    assert (found.role, found.outcome, found.unit) == ("culprit", "server: kernel random", "us")
    assert (found.case, found.baseline) == (TREATED.levels, BASE.levels)


@pytest.mark.parametrize(
    ("extra_us", "share"), [(-1, None), (0, None), (0.5, 1), (50, 1), (100, 0.6), (120, 0.5), (121, None)]
)
def test_it_causes_half_of_the_extra_or_more(extra_us: float, share: float | None) -> None:
    found = told([{RANDOM: 60}, {RANDOM: 60}], extra_us)
    assert found is None if share is None else found is not None
    assert found is None or found.more["share"] == pytest.approx(share)


def test_what_the_baseline_spends_there_does_not_count() -> None:
    found = told([{RANDOM: 60}] * 2, base={RANDOM: 40})
    assert found is not None
    assert (found.difference.point, found.more["share"]) == (pytest.approx(60), pytest.approx(0.6))


def test_a_microsecond_has_a_culprit_as_well() -> None:
    assert told([{RANDOM: 1}] * 2, 1) is not None


def test_all_that_passes_through_it_counts_and_is_named_beneath() -> None:
    """Of 100 µs 70 draw, 25 send, 5 wake up, and 4 more have no component."""
    woken = f"{DRAW};futex_wake [kernel]"
    found = told([{RANDOM: 70, NETWORK: 25, woken: 5, f"{ROOT};quiet [mysqld]": 9}] * 2, 109)
    assert found is not None
    assert found.more["beneath"] == "kernel network; kernel scheduling"
    assert found.more["share"] == pytest.approx(100 / 109)
    fewer = told([{RANDOM: 71, NETWORK: 25, woken: 4}] * 2)
    assert fewer is not None
    assert fewer.more["beneath"] == "kernel network"
    in_two = told([{RANDOM: 94, NETWORK: 3, f"{DRAW};tcp_push [kernel]": 3}] * 2)
    assert in_two is not None
    assert in_two.more["beneath"] == "kernel network"
    unknown = "load [libtale.so]"
    nameless = told([{f"{unknown};chacha [kernel]": 70, f"{unknown};helper [where]": 30}] * 2)
    assert nameless is not None
    assert (nameless.more["share"], nameless.more["beneath"]) == (pytest.approx(1.0), "")


def test_without_a_clear_component_there_is_none() -> None:
    assert told([{}, {}]) is None
    assert told([{RANDOM: 100}, {RANDOM: 20}]) is None, "it scatters"
    assert told([{RANDOM: 60}]) is None, "one block"
    assert told([{NOBODYS: 60}] * 2) is None, "nobody's"
    assert told([{WORK: -60}] * 2) is None, "a saving"


def test_a_component_within_the_noise_is_passed_over() -> None:
    both: Blocks = [{RANDOM: 60, LOCKED: 55}] * 2
    within, beyond = told(both, 100, noise(60)), told(both, 100, noise(59))
    assert within is not None
    assert beyond is not None
    assert (within.more["function"], beyond.more["function"]) == ("wait", "draw")
    without = told(both)
    assert without is not None
    assert without.more["function"] == "draw", "the larger one leads"


def test_what_passes_through_the_function_must_be_beyond_the_noise_and_clear_as_well() -> None:
    """Of 100 µs of the component 90 pass through one function."""
    other = f"{ROOT};elsewhere [mysqld];chacha [kernel]"
    extra = [{RANDOM: 90, other: 10}] * 2
    assert told(extra, 100, noise(89)) is not None
    assert told(extra, 100, noise(90)) is None
    assert told([{RANDOM: 60, NETWORK: 20}, {RANDOM: 60, NETWORK: -10}], base={NETWORK: 10}) is None
    assert told([{RANDOM: 60, NETWORK: 5}] * 2, base={NETWORK: 10}) is not None


def test_four_fifths_of_the_component_must_pass_through_it() -> None:
    other = f"{ROOT};elsewhere [mysqld];chacha [kernel]"
    found = told([{RANDOM: 80, other: 20}] * 2)
    assert found is not None
    assert (found.more["function"], found.more["share"]) == ("draw", pytest.approx(0.8))
    assert told([{RANDOM: 79, other: 21}] * 2) is None, "the root is ordinary"


def test_a_function_with_a_quarter_of_the_baselines_cost_is_no_origin() -> None:
    extra = [{RANDOM: 100}] * 2
    assert told(extra, base={f"{DRAW};count [libm.so.6]": 333}) is not None
    lots = {f"{DRAW};count [libm.so.6]": 334}
    assert told(extra, base=lots) is None
    quarter = {f"{DRAW};count [libm.so.6]": 1}
    assert told(extra, base=quarter, ordinary=3) is None
    assert told(extra, base=quarter, ordinary=4) is not None
    assert told(extra, ordinary=2) is not None, "a function that the baseline never enters"


def test_deeper_functions_come_before_their_callers() -> None:
    deep = f"{DRAW};mix [libtale.so];chacha [kernel]"
    for split, function in (((80, 20), "mix"), ((79, 21), "draw")):
        found = told([{deep: split[0], RANDOM: split[1]}] * 2)
        assert found is not None
        assert found.more["function"] == function


def test_of_several_nearest_the_one_with_most_is_named() -> None:
    """Both functions call each other; 4/5 pass through each, most of it by way of `b` as the last."""
    a, b = "a [libtale.so]", "b [libtale.so]"
    for more, less, name in ((a, b, "b"), (b, a, "a")):
        extra = {f"{ROOT};{more};{less};chacha [kernel]": 60, f"{ROOT};{less};{more};chacha [kernel]": 40}
        found = told([extra] * 2)
        assert found is not None
        assert found.more["function"] == name
    leaves = ("chacha [kernel]", "urandom_read [kernel]")
    in_two = {f"{ROOT};{b};{a};{leaf}": 30 for leaf in leaves}
    found = told([{**in_two, f"{ROOT};{a};{b};chacha [kernel]": 40}] * 2)
    assert found is not None
    assert found.more["function"] == "a"
    even = {f"{ROOT};{a};{b};chacha [kernel]": 50, f"{ROOT};{b};{a};chacha [kernel]": 50}
    found = told([even] * 2)
    assert found is not None
    assert found.more["function"] == "b", "the later name of equals"


def test_recursion_counts_once() -> None:
    found = told([{f"{DRAW};draw [libtale.so];chacha [kernel]": 60}] * 2)
    assert found is not None
    assert found.difference.point == pytest.approx(60)


def test_the_clients_function_can_be_it() -> None:
    found = told([{}, {}], 40, clients=[40, 40])
    assert found is not None
    assert (found.more["side"], found.more["function"], found.more["library"]) == (
        "client",
        "ask",
        "libown.so",
    )


def test_alone_it_must_be_clear_among_all_components() -> None:
    """By two blocks 400 ± d: t(1) is 25.45 of 95 %, 50.92 of 97.5 % for two, 76.39 for three components."""
    one_place = costs([{WORK: 410}, {WORK: 390}])
    plain = culprit(one_place, (TREATED, BASE), 400, None, is_clear_as_a_whole=True)
    assert plain is None, "it is ordinary work"
    clear: Blocks = [{RANDOM: 406}, {RANDOM: 394}]
    assert alone(clear) is not None, "400 is 67 times its standard error, of two components"
    assert alone([{RANDOM: 410}, {RANDOM: 390}]) is None
    assert told([{RANDOM: 410}, {RANDOM: 390}], 400) is not None, "it would be clear as a part of the whole"
    assert alone([{RANDOM: 406, LOCKED: 1}, {RANDOM: 394, LOCKED: 2}]) is None, "67 times, of three"
    found = alone([{RANDOM: 405, LOCKED: 1}, {RANDOM: 395, LOCKED: 2}])
    assert found is not None
    assert found.difference.confidence == 0.95
    assert found.difference.high == pytest.approx(400 + 5 * 25.4517, rel=1e-5)


def test_alone_among_no_other_component_nothing_is_widened() -> None:
    trials = []
    for block, us in enumerate((410, 390)):
        plain, more = {RANDOM: 10, WORK: 0}, {f"{ROOT};late [libtale.so];chacha [kernel]": us, RANDOM: 10}
        for case, stacks in ((BASE, plain), (TREATED, more)):
            known = {stack: count for stack, count in stacks.items() if count}
            trials += [measured(case, block, sum(known.values())), sampled(case, block, profile(known))]
    sampled_costs = Costs(run_of(*trials, study=FAULT_STUDY))
    found = culprit(sampled_costs, (TREATED, BASE), 1, None, is_clear_as_a_whole=False)
    assert found is not None
    assert (found.more["function"], found.more["share"]) == ("late", 1.0)


def test_alone_noise_counts_too_and_the_whole_may_be_a_saving() -> None:
    extra: Blocks = [{RANDOM: 60}, {RANDOM: 60}]
    assert alone(extra, 1, noise(60)) is None
    found = alone(extra, -20, noise(59))
    assert found is not None
    assert found.more["share"] == 1.0


def test_extra_stacks_are_differences_of_means() -> None:
    found = extra_stacks([{"a": 4.0, "b": 1.0}, {"a": 2.0}], [{"a": 1.0, "c": 4.0}, {"a": 1.0}])
    assert list(found.items()) == [("a", 2.0), ("b", 0.5), ("c", -2.0)]


def test_of_equal_callers_the_same_is_told_however_names_are_hashed() -> None:
    """Forty of them: by the order of a set, another one would come first in most processes."""
    callers = [f"{ROOT};caller_{place} [mysqld];read [libc.so.6];chacha [kernel]" for place in range(40)]
    found = functions(extra_stacks([dict.fromkeys(callers, 1.0)], [{}]))
    assert found == {"kernel random": [cost("read", "libc.so.6", 40.0, "caller_0")]}


def cost(name: str, library: str, us: float, through: str = "") -> tuple[Frame, float, str]:
    return Frame(name, library), us, through


def test_an_own_function_is_charged_for_its_own_code() -> None:
    found = functions({WORK: 3.0, f"{WORK};work [mysqld]": 2.0, f"{WORK};late [libtale.so]": -4.0})
    assert found == {"sessions": [cost("work", "mysqld", 5.0), cost("late", "libtale.so", -4.0)]}


def test_others_are_charged_by_what_was_called_and_by_whom() -> None:
    """Entering the kernel is no call, nor is what has no name."""
    entered = f"{WORK};do_syscall_64 [kernel];[unknown] [kernel];ksys [kernel];tcp_sendmsg [kernel]"
    bare = f"{WORK};do_syscall_64 [kernel];entry_SYSCALL_64 [kernel]"
    nobody = "[cut off];[unknown] [where];read [libc.so.6];chacha [kernel]"
    lone = "ask [libown.so];poll [libc.so.6];futex_wait [kernel]"
    found = functions({RANDOM: 3.0, entered: 2.0, bare: 1.0, nobody: 7.0, lone: 4.0})
    assert found == {
        "kernel random": [cost("read", "libc.so.6", 10.0, "")],
        "kernel network": [cost("ksys", "kernel", 2.0, "work")],
        "sessions": [cost("entry_SYSCALL_64", "kernel", 1.0, "work")],
        "kernel scheduling": [cost("poll", "libc.so.6", 4.0, "ask")],
    }


def test_the_caller_shown_is_the_one_with_most_in_either_direction() -> None:
    by_work, by_root = (f"{own};read [libc.so.6];chacha [kernel]" for own in (WORK, ROOT))
    (found,) = functions({RANDOM: 3.0, by_work: -5.0, by_root: 1.0})["kernel random"]
    assert found == cost("read", "libc.so.6", -1.0, "work")
    (found,) = functions({RANDOM: 3.0, f"{RANDOM};chacha [kernel]": 3.0, by_work: 5.0})["kernel random"]
    assert found == cost("read", "libc.so.6", 11.0, "draw")


def test_the_five_largest_are_shown_and_equals_by_their_name() -> None:
    names = {"a": 1.0, "b": -6.0, "c": 2.0, "e": -4.0, "d": 4.0, "f": 5.0, "g": 0.5}
    found = functions({f"{ROOT};{name} [mysqld]": us for name, us in names.items()})["sessions"]
    assert [(frame.function, us) for frame, us, _ in found] == [
        ("b", -6.0),
        ("f", 5.0),
        ("d", 4.0),
        ("e", -4.0),
        ("c", 2.0),
    ]


@pytest.mark.parametrize(
    ("function", "library", "own"),
    [
        ("work", "mysqld", True),
        ("SSL_read", "libssl.so.3", True),
        ("[unknown]", "mysqld", False),
        ("[cut off]", "mysqld", False),
        ("work", "kernel", False),
        ("work", "[unknown]", False),
        ("read", "libc.so.6", False),
        ("read", "libcrypto.so.3", True),
        ("malloc", "libtcmalloc_minimal.so.4", False),
        ("clock", "[vdso]", False),
        ("CRYPTO_malloc", "libcrypto.so.3", False),
        ("my_malloc", "mysqld", False),
        ("my_malloc_size", "mysqld", True),
        ("operator new", "mysqld", False),
    ],
)
def test_own_is_what_works_for_itself_and_has_a_name(function: str, library: str, own: bool) -> None:
    assert is_own(Frame(function, library)) is own
