"""All workers, each in a thread that stays, set to work together and watched from the main thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from time import perf_counter_ns

from driver_contract.failure import Failure
from driver_contract.laboratory import Laboratory
from driver_contract.worker import Worker

LOOK_S = 1.0


class Crew:
    """The job's workers. Between two tasks each thread waits at a lock, which nobody looks at meanwhile."""

    def __init__(self, workers: list[Worker], laboratory: Laboratory, timeout_s: float) -> None:
        self.workers = workers
        self._laboratory = laboratory
        self._timeout_s = timeout_s
        self._all_done = os.eventfd(0)
        self._counting = threading.Lock()
        self._left = 0
        self._failures: list[BaseException] = []
        self._task: Callable[[Worker], None]
        self._gates = [threading.Lock() for _ in workers]
        for worker, gate in zip(workers, self._gates, strict=True):
            gate.acquire()
            threading.Thread(target=self._serve, args=(worker, gate), daemon=True).start()

    def each(self, task: Callable[[Worker], None], look: Callable[[], None] | None = None) -> None:
        """Let every worker do this, and wait until all have; `look` once a second.

        Raises Failure where one does, or hangs for longer than the job's timeout; LaboratoryGone. A thread
        that hangs in a driver cannot be ended: the process is to end.
        """
        self._task, self._left = task, len(self.workers)
        for gate in self._gates:
            gate.release()
        while not self._laboratory.wait(self._all_done, LOOK_S):
            self._raise_timeout()
            if look is not None:
                look()
        os.eventfd_read(self._all_done)
        if self._failures:
            raise self._failures[0]

    def _serve(self, worker: Worker, gate: threading.Lock) -> None:
        """A worker's thread: each time that its gate is opened, the task."""
        while True:
            gate.acquire()
            try:
                self._task(worker)
            except BaseException as error:
                self._failures.append(error)
            worker.busy_since_ns = 0
            with self._counting:
                self._left -= 1
                is_last = self._left == 0
            if is_last:
                os.eventfd_write(self._all_done, 1)

    def _raise_timeout(self) -> None:
        """Raises Failure when a worker has waited longer than the job allows."""
        now_ns = perf_counter_ns()
        for worker in self.workers:
            since_ns = worker.busy_since_ns
            if since_ns and now_ns - since_ns > self._timeout_s * 1e9:
                raise Failure("timeout", f"the server has not answered within {self._timeout_s:g} s")
