"""A stand-in for a server that starts a process for each connection; `python forking_server.py [MEBIBYTES]`.

It answers each line of its input with a line:

- `burn N US`: starts N processes, one after another, which use US microseconds of CPU each and end; answers
  with the microseconds that these had used when they were about to end, by their own clocks, and with what it
  and all that it has started have used so far, their ends included, by getrusage(2);
- `listen 1`: answers with a port of 127.0.0.1 where it takes a connection, for which it starts a process;
- `own N`: holds N MiB of memory of its own, all of it touched, which what it starts has with it;
- `keep N`: starts N that stay and share its memory, and answers with their ids;
- `fork N`: from now on starts processes that live for a moment, N at a time, and adds a byte to the file
  `forks` in its folder for each; answers at once and to nothing else.

It holds as much shared memory as it is told, all of it touched.
"""

from __future__ import annotations

import mmap
import os
import resource
import socket
import struct
import sys
import time
from collections.abc import Callable

_listening: list[socket.socket] = []
"""What it listens at, until it ends."""


def burn(us: int, told: int | None = None) -> None:
    """Use the processor for so long, and tell what was used so far."""
    until_ns = time.process_time_ns() + us * 1000
    while time.process_time_ns() < until_ns:
        pass
    if told is not None:
        os.write(told, struct.pack("=q", time.process_time_ns()))


def burned_us(number: int, us: int) -> int:
    """What N processes had used when they were about to end."""
    reading, writing = os.pipe()
    total_ns = 0
    for _ in range(number):
        pid = started(lambda: burn(us, writing))
        total_ns += struct.unpack("=q", os.read(reading, 8))[0]
        os.waitpid(pid, 0)
    os.close(reading)
    os.close(writing)
    return total_ns // 1000


def used_us() -> int:
    """What this process and those that it has seen end have used."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return round(sum(use.ru_utime + use.ru_stime for use in uses) * 1e6)


def started(act: Callable[[], None]) -> int:
    """A process that does this and ends."""
    pid = os.fork()
    if not pid:
        act()
        os._exit(0)
    return pid


def keep(shared: mmap.mmap) -> None:
    """Touch all that is shared, and stay."""
    sum(shared[place] for place in range(0, len(shared), mmap.PAGESIZE))
    while True:
        time.sleep(3600)


def take_one(listener: socket.socket) -> None:
    """Say where it listens, and have a process keep the first connection there."""
    print(listener.getsockname()[1], flush=True)  # noqa: T201
    connection, _ = listener.accept()

    def serve() -> None:
        listener.close()
        time.sleep(3600)

    started(serve)
    connection.close()
    _listening.append(listener)


def fork_on(at_a_time: int) -> None:
    """Start one after another, without an end."""
    with open("forks", "ab", buffering=0) as forks:  # noqa: PTH123 (a program of a few imports)
        running = 0
        while True:
            if running == at_a_time:
                os.wait()
                running -= 1
            started(lambda: burn(500))
            running += 1
            forks.write(b".")


def main() -> None:
    """Answer until the input ends."""
    shared = mmap.mmap(-1, int(sys.argv[1] if len(sys.argv) > 1 else "1") << 20)
    for place in range(0, len(shared), mmap.PAGESIZE):
        shared[place] = 1
    own = bytearray()
    for line in sys.stdin:
        what, *numbers = line.split()
        number = int(numbers[0])
        if what == "burn":
            print(burned_us(number, int(numbers[1])), used_us(), flush=True)  # noqa: T201
        elif what == "listen":
            take_one(socket.create_server(("127.0.0.1", 0)))
        elif what == "own":
            own += b"o" * (number << 20)
            print(len(own), flush=True)  # noqa: T201
        elif what == "keep":
            print(*(started(lambda: keep(shared)) for _ in range(number)), flush=True)  # noqa: T201
        else:
            print("forking", flush=True)  # noqa: T201
            fork_on(number)


if __name__ == "__main__":
    main()
