"""What counting costs: how much more a change of threads costs while events are counted.

Counters are saved and loaded at every change of threads. On a virtual machine each of these accesses may be
carried out by its host, which can take longer than all that a server does for a connection.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection, Sequence

from tlstax.observers import perf_events
from tlstax.observers.perf_events import Event

ROUNDS = 5
WITHIN_S = 10.0
_COMMAND = (sys.executable, "-P", "-s", "-m", "tlstax.observers.switching")
SWITCHES_PER_TURN = 2
"""There and back."""


def us_per_switch(events: Collection[Event]) -> float | None:
    """How many microseconds more a change of threads costs while these events are counted.

    Two processes on one processor wake each other in turns, with and without; the fastest rounds are
    compared, so what else runs on the machine is left out. None where that could not be tried.
    """
    try:
        with subprocess.Popen(
            _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as program:
            try:
                rounds = [_round(program, events) for _ in range(ROUNDS)]
                program.communicate(timeout=WITHIN_S)
            finally:
                program.kill()
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    alone_us, counted_us = min(alone for alone, _ in rounds), min(counted for _, counted in rounds)
    return max(0.0, (counted_us - alone_us) / SWITCHES_PER_TURN)


def _round(program: subprocess.Popen[str], events: Collection[Event]) -> tuple[float, float]:
    """Microseconds of a turn without and with counting."""
    alone = _turn_us(program)
    descriptors: Sequence[int] = ()
    try:
        descriptors = [perf_events.open_event(event, program.pid) for event in events]
        return alone, _turn_us(program)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _turn_us(program: subprocess.Popen[str]) -> float:
    if program.stdin is None or program.stdout is None:
        raise ValueError("the program has no pipes")
    print(file=program.stdin, flush=True)
    return float(program.stdout.readline())
