"""What perf prints, recorded from it, becomes counts or a clause that says why there are none."""

from __future__ import annotations

import pytest

from tlstax.observers.counters import KERNEL, USER, Counted, parse, refused, usable_events

SUPPORTED = """\
1523048,,instructions:u,1000482,100.00,,
884210,,instructions:k,1000482,100.00,,
"""
USER_ONLY = "1523048,,instructions:u,1000482,100.00,0.71,insn per cycle\n"
NOT_SUPPORTED = """\
<not supported>,,instructions:u,0,100.00,,
<not supported>,,instructions:k,0,100.00,,
"""
NOT_COUNTED = """\
<not counted>,,instructions:u,0,0.00,,
<not counted>,,instructions:k,0,0.00,,
"""
SHARED = """\
1523048,,instructions:u,500241,50.02,,
884210,,instructions:k,1000482,100.00,,
"""
NO_PERMISSION = """\
Error:
Access to performance monitoring and observability operations is limited.
Consider adjusting /proc/sys/kernel/perf_event_paranoid setting to open
access to performance monitoring and observability operations for processes
without CAP_PERFMON, CAP_SYS_PTRACE or CAP_SYS_ADMIN Linux capability.
"""


def test_counts_are_taken_as_they_are() -> None:
    assert parse(SUPPORTED) == Counted(events={USER: 1_523_048, KERNEL: 884_210})
    assert parse(USER_ONLY) == Counted(events={USER: 1_523_048})
    assert parse(f"# started on Sat Nov 21 23:00:00 2026\n\n{SUPPORTED}").events[KERNEL] == 884_210


@pytest.mark.parametrize("text", [NOT_SUPPORTED, NOT_COUNTED])
def test_a_machine_without_counters_is_told_in_a_clause(text: str) -> None:
    assert parse(text) == Counted(events={}, why_none="this machine offers no hardware counters")


def test_what_perf_extrapolated_is_not_taken() -> None:
    assert parse(SHARED).events == {KERNEL: 884_210}
    assert parse(SHARED.splitlines()[0]).why_none == "the hardware counters are in use by others"


@pytest.mark.parametrize("text", ["", "perf: something else\n"])
def test_what_is_not_perfs_output_counts_nothing(text: str) -> None:
    assert parse(text) == Counted(events={}, why_none="perf counted nothing")


def test_a_refusal_names_the_setting_that_refuses() -> None:
    assert refused(NO_PERMISSION).why_none.endswith("(perf_event_paranoid)")
    assert refused("\nno such event\n").why_none == "perf stat failed (no such event)"
    assert refused("").why_none == "perf stat failed (no message)"


def test_without_perf_there_is_a_reason_and_no_crash() -> None:
    assert usable_events("tlstax-has-no-such-program") == Counted(events={}, why_none="perf is not installed")
