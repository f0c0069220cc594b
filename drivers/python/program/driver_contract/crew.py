"""All workers, set to work together for a span of time, watched from the main thread."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from time import perf_counter_ns

from driver_contract.failure import Failure
from driver_contract.laboratory import Laboratory
from driver_contract.worker import Worker

LOOK_S = 1.0


class Crew:
    """The job's workers, a thread each while they work."""

    def __init__(self, workers: list[Worker], laboratory: Laboratory, timeout_s: float) -> None:
        self.workers = workers
        self._laboratory = laboratory
        self._timeout_s = timeout_s

    def each(self, task: Callable[[Worker], None], look: Callable[[], None] | None = None) -> None:
        """Let every worker do this, in a thread of its own, and wait until all have; `look` once a second.

        Raises Failure where one does, or hangs for longer than the job's timeout; LaboratoryGone. A thread
        that hangs in a driver cannot be ended: the process is to end.
        """
        failures: list[BaseException] = []
        ended, end = os.pipe()
        left = _Countdown(len(self.workers), lambda: os.close(end))

        def run(worker: Worker) -> None:
            try:
                task(worker)
            except BaseException as error:
                failures.append(error)
            finally:
                worker.busy_since_ns = 0
                left.count()

        threads = [threading.Thread(target=run, args=(worker,), daemon=True) for worker in self.workers]
        for thread in threads:
            thread.start()
        while not self._laboratory.wait(ended, LOOK_S):
            self._raise_timeout()
            if look is not None:
                look()
        with contextlib.suppress(OSError):
            os.close(ended)
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def _raise_timeout(self) -> None:
        """Raises Failure when a worker has waited longer than the job allows."""
        now_ns = perf_counter_ns()
        for worker in self.workers:
            since_ns = worker.busy_since_ns
            if since_ns and now_ns - since_ns > self._timeout_s * 1e9:
                raise Failure("timeout", f"the server has not answered within {self._timeout_s:g} s")


class _Countdown:
    """Calls something when so many have counted."""

    def __init__(self, left: int, then: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._left, self._then = left, then

    def count(self) -> None:
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self._then()
