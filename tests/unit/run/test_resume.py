"""A run that was cut off is found, refused where something has changed, and its budget and order go on."""

from __future__ import annotations

import pytest

from fake_trials import fake_header, fake_run, whole_tax
from kept_runs import keep
from tlstax.plan.order import cases
from tlstax.records.trial import LoadMachines, Machine, Specimen, Trial
from tlstax.run.progress import Outlook
from tlstax.run.resume import check_same, check_study, check_where, slim, spent_s, unfinished
from tlstax.store import Store
from tlstax.study import Study
from tlstax.support.errors import UserMistake
from tlstax.topics.answer.document import document

TAX = whole_tax()
CUT = fake_run(number_of_blocks=2)
HALF = CUT.model_copy(update={"trials": CUT.trials[:15]})
FIRST, SECOND = "20260101-000000-aaaa", "20260102-000000-bbbb"


def test_the_last_run_that_was_cut_off_is_resumed(store: Store) -> None:
    keep(store, HALF, FIRST)
    store.finish(FIRST, "interrupted", "Ctrl-C or a signal ended it")
    keep(store, HALF, SECOND)
    store.finish(SECOND, "complete", "every ratio is known")
    assert unfinished(store, "tax", "last").header.run == FIRST
    assert unfinished(store, "tax", "20260101").header.run == FIRST


@pytest.mark.parametrize(
    ("run", "study", "says"),
    [
        ("last", "openssl-versions", "there is no run of study openssl-versions to resume"),
        (FIRST, "openssl-versions", "is one of study tax, not of openssl-versions"),
        (FIRST, "tax", f"run {FIRST} is complete (it was known): nothing is left to do"),
        ("last", "tax", f"run {FIRST} is complete (it was known): nothing is left to do"),
        ("2027", "tax", "there is no run '2027'"),
    ],
)
def test_what_cannot_be_resumed_is_said_in_one_sentence(
    store: Store, run: str, study: str, says: str
) -> None:
    keep(store, HALF, FIRST)
    store.finish(FIRST, "complete", "it was known")
    with pytest.raises(UserMistake) as caught:
        unfinished(store, study, run)
    assert says in caught.value.sentence()


def test_a_run_that_goes_on_and_one_on_a_foreign_server_are_left_alone(store: Store) -> None:
    keep(store, HALF, FIRST)
    with pytest.raises(UserMistake, match="is still running"):
        unfinished(store, "tax", FIRST)
    store.begin(fake_header(run=SECOND).model_copy(update={"guest": True}))
    store.finish(SECOND, "interrupted", "")
    with pytest.raises(UserMistake, match="an external server"):
        unfinished(store, "tax", SECOND)


def test_another_study_is_refused_by_what_differs() -> None:
    changed = TAX.model_copy(update={"budget_s": 300.0, "precision": 0.01})
    with pytest.raises(UserMistake, match="precision and budget_s changed since"):
        check_study(HALF, changed)
    check_study(HALF, TAX)


def test_a_run_whose_budget_is_spent_has_nothing_left_to_do() -> None:
    spent = CUT.model_copy(
        update={"trials": tuple(record.model_copy(update={"took_s": 10.0}) for record in CUT.trials)}
    )
    with pytest.raises(UserMistake, match=r"nothing is left to do in run .*: the budget of 60 s is spent"):
        check_study(spent, TAX)
    # Cut off in mid-block, the block is brought to its end.
    check_study(spent.model_copy(update={"trials": spent.trials[:15]}), TAX)


SAME = fake_header().specimens
OTHER = SAME[0].model_copy(update={"version": "9.7.5-1", "sha256": "cd" * 32})


@pytest.mark.parametrize(
    ("specimens", "changes", "says"),
    [
        ((OTHER,), {}, "mysql-9.7 is not the one that run 20261121-195500-ab12 began with: it was 9.7.4-1"),
        ((SAME[0].model_copy(update={"sha256": "cd" * 32}),), {}, "began with: its program differs"),
        ((SAME[0].model_copy(update={"name": "mysql-8.4"}),), {}, "mysql-8.4 is not the one"),
        (SAME, {"cpu_model": "Another CPU"}, "begun on another machine: the processor was Fake CPU"),
        (
            SAME,
            {"server_cpus": (1,), "client_cpus": (0,)},
            "(server on CPU 0, client on CPU 1) than it would go on with (server on CPU 1, client on CPU 0)",
        ),
        (
            SAME,
            {"server_cpus": (), "client_cpus": ()},
            "begun on other CPUs (server on CPU 0, client on CPU 1) than it would go on with (any)",
        ),
    ],
)
def test_another_specimen_or_machine_is_refused(
    specimens: tuple[Specimen, ...], changes: dict[str, object], says: str
) -> None:
    machine: Machine = fake_header().machine
    check_same(fake_header(), SAME, machine)
    with pytest.raises(UserMistake) as caught:
        check_same(fake_header(), specimens, machine.model_copy(update=changes))
    assert says in caught.value.sentence()


def test_another_tlstax_is_refused() -> None:
    header = fake_header().model_copy(update={"tlstax_version": "0.0.9"})
    with pytest.raises(UserMistake, match=r"begun by tlstax 0.0.9, and this is"):
        check_same(header, SAME, header.machine)


def test_a_resumed_run_says_so_in_its_document(store: Store) -> None:
    keep(store, HALF, FIRST)
    store.finish(FIRST, "interrupted", "Ctrl-C or a signal ended it")
    store.resume(FIRST)
    store.finish(FIRST, "interrupted", "Ctrl-C or a signal ended it")
    resumed = store.resume(FIRST)
    assert len(resumed.resumed_at) == 2
    assert resumed.header == HALF.header.model_copy(update={"run": FIRST})
    said = [caveat for caveat in document(resumed).caveats if "resumed" in caveat]
    assert len(said) == 1
    assert f"resumed 2 times (last at {resumed.resumed_at[-1]})" in said[0]


def test_what_was_measured_before_counts_towards_the_budget() -> None:
    before = spent_s(HALF)
    assert before == pytest.approx(sum(record.took_s for record in HALF.trials))
    outlook = Outlook(TAX, 0.1, before, now_s=1000.0)
    assert outlook.spent_s(1007.0) == pytest.approx(before + 7.0)


def _step(study: Study, position: int, outlook: Outlook, now_s: float) -> float:
    case = cases(study)[position]
    return outlook.step(Trial(block=0, position=position, case=case), now_s).left_s


def test_the_time_left_follows_what_trials_take_and_is_never_less_than_the_block() -> None:
    outlook = Outlook(TAX, 0.1, 0.0, now_s=0.0)
    assert _step(TAX, 0, outlook, 0.0) == 60.0
    for position in range(1, 9):
        _step(TAX, position, outlook, position * 20.0)
    # One trial is left of a block that takes 200 s; the budget was spent long ago.
    assert _step(TAX, 9, outlook, 180.0) == pytest.approx(20.0)


def test_a_budget_without_room_for_two_blocks_is_said_at_the_start() -> None:
    assert Outlook(TAX, 0.1, 0.0, 0.0).warning == ""
    small = TAX.model_copy(update={"budget_s": 3.0})
    assert Outlook(small, 0.1, 0.0, 0.0).warning == (
        "the budget of 3 s has no room for two blocks, the fewest that give an interval: one block of 10 "
        "trials takes about 2.1 s; at least one is run to its end all the same"
    )


def test_what_is_kept_in_memory_decides_as_the_whole_record_does() -> None:
    record = CUT.trials[0]
    assert record.done is not None
    lean = slim(record, TAX)
    assert lean.done is not None
    assert (lean.done.histograms_ns, lean.done.operations) == ({}, record.done.operations)
    by_latency = TAX.model_copy(update={"deciding_outcome": "latency_p50_us"})
    assert slim(record, by_latency).done == record.done


def test_a_run_goes_on_where_it_was_begun() -> None:
    alone = fake_header()
    spread = alone.model_copy(update={"machines": {"a": alone.machine, "b": alone.machine}})
    check_where(alone, on_cluster=False)
    check_where(spread, on_cluster=True)
    with pytest.raises(UserMistake, match="was begun on one machine") as caught:
        check_where(alone, on_cluster=True)
    assert "leave out --ray" in caught.value.remedy
    with pytest.raises(UserMistake, match="was begun on several machines") as caught:
        check_where(spread, on_cluster=False)
    load = LoadMachines(server_address="10.0.0.1", machines={"c1": alone.machine}, offered=1)
    shared = spread.model_copy(update={"load": load})
    check_where(shared, on_cluster=True, shares_load=True)
    with pytest.raises(UserMistake, match="was begun with --clients-on"):
        check_where(shared, on_cluster=True)
    with pytest.raises(UserMistake, match="was begun without --clients-on"):
        check_where(spread, on_cluster=True, shares_load=True)
    assert "give --ray" in caught.value.remedy
