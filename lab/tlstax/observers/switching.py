"""A program whose processes do nothing but change: for each line that it reads, it says what a turn takes.

It stays on one processor. In a turn two processes wake each other through pipes, there and back; the other
one is made anew for each line, so that it inherits what the first is counted by. It ends with its input.
"""

from __future__ import annotations

import os
import sys
import time

TURNS = 100


def main() -> None:
    """Say the microseconds of a turn, the mean of a hundred, for each line of standard input."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for _ in sys.stdin:
        sys.stdout.write(f"{_turn_us()}\n")
        sys.stdout.flush()


def _turn_us() -> float:
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
