"""The fault `burn` in the turns of one case: its amount set before each, what it did read after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tlstax.records.burned import Burned
from tlstax.run.bench import Bench
from tlstax.specimens.burn_page import Burnt
from tlstax.study.factors import CaseLevels


class Burning:
    """What is burned at the server of the case with these levels; nothing where the fault is not planted."""

    def __init__(self, case: CaseLevels, bench: Bench) -> None:
        self._page = bench.server.burn_page
        self._amount_ns = case.burn_ns
        self._turns: list[Burnt] = []

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The case's amount is burned in each call until the block ends, and nothing after it.

        A block that fails is no turn.
        """
        page = self._page
        if page is None:
            yield
            return
        before = page.read()
        page.ask(self._amount_ns)
        try:
            yield
            self._turns.append(page.read().since(before))
        finally:
            page.ask(0)

    def record(self) -> Burned | None:
        """All turns so far; None where there was none, or nothing is planted."""
        if not self._turns:
            return None
        return Burned(
            calls=tuple(turn.calls for turn in self._turns),
            asked_ns=tuple(turn.asked_ns for turn in self._turns),
            burned_ns=tuple(turn.burned_ns for turn in self._turns),
            cpu_ns=tuple(turn.cpu_ns for turn in self._turns),
        )
