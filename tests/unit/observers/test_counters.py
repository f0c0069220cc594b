"""Which events can be counted, what is said of the others, and what a difference of two readings is worth."""

from __future__ import annotations

import errno

import pytest

from tlstax.observers import countable, counters
from tlstax.observers.countable import usable_events
from tlstax.observers.counters import (
    EVENTS,
    HARDWARE_EVENTS,
    INSTRUCTIONS,
    SOFTWARE_EVENTS,
    Counters,
    Event,
    Reading,
    counted,
)


@pytest.fixture(autouse=True)
def _counting_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(countable.usable_events, "__defaults__", (counters.fault_of, lambda _: 0.5))


def test_counters_that_would_be_what_is_measured_are_left_alone() -> None:
    """On a virtual machine that has them, all six together added 534 µs to a change of threads."""
    asked: list[Event] = []
    dear = usable_events(lambda _: 0, lambda events: asked.extend(events) or 534.4)  # type: ignore[func-returns-value]
    assert tuple(asked) == HARDWARE_EVENTS
    assert dear.events == SOFTWARE_EVENTS
    assert dear.notes() == (
        "instructions, cycles and cache misses are not counted: counting them adds 534 µs to every "
        "change of threads here, as on a virtual machine whose host has to help",
    )


def test_counters_of_which_nobody_knows_what_they_cost_are_left_alone() -> None:
    (note,) = usable_events(lambda _: 0, lambda _: None).notes()
    assert note.endswith("are not counted: what counting them costs could not be tried")


def test_what_counting_costs_is_tried_only_where_there_is_something_to_count() -> None:
    def refuse(_: object) -> float:
        raise AssertionError("nothing can be counted")

    assert usable_events(lambda event: errno.ENOENT if event in HARDWARE_EVENTS else 0, refuse).events


def test_where_everything_can_be_counted_nothing_is_said() -> None:
    usable = usable_events(lambda _: 0)
    assert usable.events == EVENTS
    assert usable.notes() == ()


def test_a_machine_without_hardware_counters_says_so_once() -> None:
    usable = usable_events(lambda event: errno.ENOENT if event in HARDWARE_EVENTS else 0)
    assert usable.events == SOFTWARE_EVENTS
    (note,) = usable.notes()
    assert note.startswith("instructions, cycles and cache misses are not counted: this machine offers no ")


def test_where_only_user_space_may_be_counted_the_rest_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(countable, "refusal", lambda: "the kernel refuses it")
    usable = usable_events(lambda event: 0 if event.part == "in user space" else errno.EACCES)
    assert {event.part for event in usable.events} == {"in user space"}
    (note,) = usable.notes()
    assert note.startswith("instructions in the kernel, cycles in the kernel, cache misses in the kernel, ")
    assert note.endswith("context switches and CPU migrations are not counted: the kernel refuses it")


def test_each_reason_is_a_sentence_of_its_own() -> None:
    def fault(event: Event) -> int:
        return {"cache misses": errno.ENOENT, "context switches": errno.EINVAL}.get(event.family, 0)

    assert usable_events(fault).notes() == (
        "cache misses are not counted: this machine offers no hardware counters for them",
        "context switches are not counted: the kernel does not offer them (Invalid argument)",
    )


def test_counts_are_differences_and_what_was_extrapolated_is_not_taken() -> None:
    before = {"a": Reading(5, 100, 100), "b": Reading(5, 100, 100), "c": Reading(5, 0, 0)}
    after = {
        "a": Reading(12, 5_000_000, 5_000_000),
        "b": Reading(12, 5_000_000, 2_500_000),
        "c": Reading(5, 9_000, 9_000),
        "d": Reading(99, 9_000, 9_000),
    }
    assert counted(before, after) == {"a": 7, "c": 0}


def test_an_event_that_one_thread_refuses_is_not_counted_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[int] = []

    def open_event(event: Event, pid: int) -> int:
        if event == INSTRUCTIONS[1] and pid == 8:
            raise OSError(errno.EMFILE, "too many open files")
        return pid

    monkeypatch.setattr(counters, "open_event", open_event)
    monkeypatch.setattr(counters, "read_event", lambda descriptor: Reading(descriptor, 1, 1))
    monkeypatch.setattr("tlstax.observers.counters.os.close", closed.append)
    opened = Counters(INSTRUCTIONS)
    opened._open_on([7, 8])
    assert opened.read() == {"instructions_user": Reading(15, 2, 2)}
    assert closed == [7]
    opened.close()
    opened.close()
    assert closed == [7, 7, 8]
