"""What planted libraries share with us over a trial: what the fault `burn` burned, which locks were taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tlstax.observers.process import CpuClock, mapped_faults
from tlstax.observers.symbols import Function, Symbols
from tlstax.records.window import Burned, LockCounts, LockSite
from tlstax.run.bench import Bench
from tlstax.specimens.shared_pages import Burnt, Site, Taken, taken_between
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


WRAPPERS = ("CRYPTO_THREAD_", "ossl_crypto_mutex_", "ossl_rcu_", "safe_mutex_", "rw_", "mtr_")
"""How functions begin through which others take their locks: it is those others that are named."""


class LockCounting:
    """What is counted at the server of a case from before its client starts; nothing where it counts none.

    Of a client that can, it is counted what it takes itself, from when it is ready.
    """

    def __init__(self, case: CaseLevels, bench: Bench) -> None:
        self._page, self._pid = bench.server.lock_page, bench.server.pid
        self._accepted_before = self._page.accepted if self._page is not None else 0
        self._found: Mapping[Site, Taken] | None = None
        own = bench.client_locks_of(case)
        self._client_page = own.page if own is not None else None
        self._client_symbols: Symbols | None = None

    @contextmanager
    def watching(self, client_pid: int | None) -> Iterator[None]:
        """Counts what happens in the block, and what the server still has to do for it when that ends.

        The client stands still at its beginning, and may have ended when it ends: what it has in memory is
        read before.
        """
        if self._client_page is not None and client_pid is not None and mapped_faults(client_pid):
            self._client_page.forget()
            self._client_symbols = Symbols(client_pid)
        page = self._page
        if page is None:
            yield
            return
        before = page.read()
        yield
        CpuClock(self._pid).read_settled(comes_and_goes=True)
        self._found = taken_between(before, page.read())

    def record(self, operations: int) -> LockCounts | None:
        """What was counted while N operations were finished; None where nothing is. OSError."""
        if self._found is None or self._page is None or self._pid is None:
            return None
        return LockCounts(
            operations=operations,
            sites=named(self._found, Symbols(self._pid)),
            lost=self._page.lost,
            accepted=self._page.accepted - self._accepted_before,
        )

    def record_of_client(self, operations: int) -> LockCounts | None:
        """The same of the client; None where it does not count, or nothing shows that it did."""
        page, symbols = self._client_page, self._client_symbols
        if page is None or symbols is None:
            return None
        return LockCounts(operations=operations, sites=named(page.read(), symbols), lost=page.lost)


def named(found: Mapping[Site, Taken], symbols: Symbols) -> tuple[LockSite, ...]:
    """The calls of each function that takes locks, most calls first."""
    calls: defaultdict[tuple[str, Function], list[int]] = defaultdict(lambda: [0, 0, 0])
    for site, taken in found.items():
        own = calls[site.kind, _taker([symbols.called_from(address) for address in site.callers])]
        own[:] = [a + b for a, b in zip(own, taken, strict=True)]
    sites = (
        LockSite(
            kind=kind, library=taker.library, function=taker.name, calls=all_, contended=taken, moved=moved
        )
        for (kind, taker), (all_, taken, moved) in calls.items()
    )
    return tuple(sorted(sites, key=lambda site: (-site.calls, site.library, site.function, site.kind)))


def _taker(callers: list[Function]) -> Function:
    """The nearest caller that takes a lock for itself; of one without a name, below whom it was called."""
    own = [caller for caller in callers if not caller.name.startswith(WRAPPERS)] or callers
    if not own or own[0].name:
        return own[0] if own else Function("", "")
    above = next((caller.name for caller in own if caller.name), "")
    return Function(own[0].library, f"below {above}" if above else "")
