"""What counting costs: how much more a change of threads costs while events are counted.

Counters are saved and loaded at every change of threads. On a virtual machine each of these accesses may be
carried out by its host, which can take longer than all that a server does for a connection.

Started as a program, its processes do nothing but change: for each line that it reads, it says what a turn
takes. It stays on one processor. In a turn two processes wake each other through pipes, there and back; the
other one is made anew for each line, so that it inherits what counts the first. It ends with its input.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Collection, Sequence

from tlstax.observers import perf_events
from tlstax.observers.perf_events import Event

ROUNDS = 5
WITHIN_S = 10.0
_COMMAND = (sys.executable, "-P", "-s", "-m", "tlstax.observers.counting_cost")
TURNS = 100
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


def main() -> None:
    """Say the microseconds of a turn, the mean of a hundred, for each line of standard input."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for _ in sys.stdin:
        sys.stdout.write(f"{_own_turn_us()}\n")
        sys.stdout.flush()


def _own_turn_us() -> float:
    their_end, our_pen = os.pipe()
    our_end, their_pen = os.pipe()
    partner = os.fork()
    if not partner:
        os.close(our_pen)
        os.close(our_end)
        while os.read(their_end, 1):
            os.write(their_pen, b".")
        os._exit(0)
    os.close(their_end)
    os.close(their_pen)
    began_ns = time.perf_counter_ns()
    for _ in range(TURNS):
        os.write(our_pen, b".")
        os.read(our_end, 1)
    took_ns = time.perf_counter_ns() - began_ns
    os.close(our_pen)
    os.waitpid(partner, 0)
    os.close(our_end)
    return took_ns / TURNS / 1000


if __name__ == "__main__":
    main()
