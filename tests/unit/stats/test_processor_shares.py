"""Ticks of processors in per cent and in stretches of the window: by hand."""

from __future__ import annotations

import pytest

from fake_trials import fake_record, tax_truth
from observed_windows import ticks
from tlstax.plan.order import cases
from tlstax.records.trial import Trial, TrialRecord
from tlstax.records.window import CpuSlice, CpuTicks, Window
from tlstax.stats.outcomes import Shares, Stretch, series, shares, together, window_slices
from tlstax.study import load_study

CASE = cases(load_study("tax"))[0]


def test_ticks_are_told_in_per_cent_and_system_has_its_interrupts() -> None:
    """Of 200 ticks, each is half a per cent."""
    found = shares(CpuTicks(user=20, nice=10, system=8, irq=4, softirq=2, iowait=6, steal=30, idle=120))
    assert found == Shares(user=10.0, nice=5.0, system=7.0, iowait=3.0, steal=15.0, idle=60.0)
    assert shares(ticks()) is None


def part(at_s: float, user: int, server: int | None = None, took_s: float = 1.0) -> CpuSlice:
    return CpuSlice(
        at_s=at_s,
        took_s=took_s,
        machine=ticks(user=user),
        server=None if server is None else ticks(idle=server),
    )


def test_slices_are_added_up_for_the_machine_or_for_the_server() -> None:
    slices = [part(0, 5, 7), part(1, 6, 8), part(2, 7)]
    assert together(slices) == ticks(user=18)
    assert together(slices, "server") == ticks(idle=15)
    assert together([part(0, 5)], "server") is None
    assert together([]) is None


def record(*parts: CpuSlice) -> TrialRecord:
    plain = fake_record(Trial(block=0, position=0, case=CASE), tax_truth(CASE), duration_s=0.01)
    return plain.model_copy(update={"window": Window(took_s=3.0, cpus=parts)})


UNWATCHED = fake_record(Trial(block=0, position=0, case=CASE), tax_truth(CASE), duration_s=0.01)


def test_all_slices_of_all_trials() -> None:
    one, two = part(0, 1), part(1, 2)
    assert window_slices([record(one), UNWATCHED, record(two, one)]) == (one, two, one)


def test_stretches_are_of_so_many_seconds_over_all_trials() -> None:
    """A trial of four seconds and one of two and a half, in stretches of two."""
    first = record(*(part(s, 1) for s in range(4)))
    second = record(part(0, 10), part(0.999, 10), part(2.0, 10, took_s=0.5))
    assert series([first, UNWATCHED, second], 2) == (
        Stretch(from_s=0, to_s=pytest.approx(2.0), trials=2, ticks=ticks(user=22)),
        Stretch(from_s=2, to_s=4.0, trials=2, ticks=ticks(user=12)),
    )
    assert series([second], 2)[1] == Stretch(from_s=2, to_s=2.5, trials=1, ticks=ticks(user=10))


def test_stretches_in_which_nothing_was_seen_are_left_out() -> None:
    assert series([record(part(0, 0), part(1, 5))], 1) == (Stretch(1, 2.0, 1, ticks(user=5)),)
    assert series([record(part(0, 5))], 1, "server") == ()
    assert series([record(part(0, 5, 9))], 1, "server") == (Stretch(0, 1.0, 1, ticks(idle=9)),)
    assert series([UNWATCHED], 1) == series([], 1) == ()
