"""Locks that a server took while it was watched, by who took them, as frozen types."""

from __future__ import annotations

from tlstax.contract import Frozen

LOCKS = ("mutex", "read lock", "write lock", "spin lock")
"""Kinds of calls that take a lock; the others wait, or wake who waits."""


class LockSite(Frozen):
    """Calls of one kind from one function of one file; the function is empty where it has no name there.

    `contended` is how many found the lock taken, `moved` how many found that another thread took it last.
    """

    kind: str
    library: str
    function: str
    calls: int
    contended: int
    moved: int


class LockCounts(Frozen):
    """All of it in the time in which `operations` were finished, most calls first; `lost` found no room."""

    operations: int
    sites: tuple[LockSite, ...]
    lost: int

    def of_kinds(self, *kinds: str) -> tuple[LockSite, ...]:
        """The sites of these kinds."""
        return tuple(site for site in self.sites if site.kind in kinds)
