"""How a server is used, as far as the account may see: since its start, and over a short watch."""

from __future__ import annotations

import time
from collections.abc import Callable

from tlstax.findings.inspection.use import use
from tlstax.mysql import answers, use_counters
from tlstax.mysql.database import Database, SqlError
from tlstax.results.inspection import Inside, Program

PERMIT = "the account would need SELECT on performance_schema"

OWN_STATEMENTS = 2
"""That the server counts as asked while it is watched: who is connected, and the second reading."""

Wait = Callable[[float], None]


def inside(database: Database, watch_s: float, wait: Wait = time.sleep) -> Inside:
    """Read the counters, wait, and read them again; in between, who is connected. Raises SqlError.

    Three statements are asked, all of the server's own counters.
    """
    before, began = use_counters.read(database), time.monotonic()
    programs, unread = _programs(database)
    wait(max(0.0, watch_s - (time.monotonic() - began)))
    after, over_s = use_counters.read(database), time.monotonic() - began
    return Inside(
        since_start=use({}, before, float(before.get(use_counters.UPTIME, 0))),
        watched=use(before, after, over_s, OWN_STATEMENTS) if watch_s > 0 else None,
        programs=programs,
        unread=unread,
    )


def _programs(database: Database) -> tuple[tuple[Program, ...], tuple[str, ...]]:
    """Who is connected, or why that cannot be read."""
    try:
        found = use_counters.connected(database)
    except SqlError as error:
        return (), (f"who is connected, and how: {answers.message_of(error)}; {PERMIT}",)
    return tuple(Program(**row._asdict()) for row in found), ()
