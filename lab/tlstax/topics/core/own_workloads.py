"""Workloads of the user's own in words: what one operation of each is, and how often."""

from __future__ import annotations

from tlstax.study import Study
from tlstax.study.workloads.user_defined import UserTransaction, UserWorkload


def own_workloads(study: Study) -> dict[str, str]:
    """The statements of each of the user's workloads that the study's cases run, by name."""
    run = study.levels_of().get("workload", ())
    return {name: _words(own) for name, own in study.workloads.items() if name in run}


def _words(own: UserWorkload) -> str:
    total = sum(one.weight for one in own.transactions)
    words = [_transaction(one, total) for one in own.transactions]
    how = "on a connection of its own each" if own.reconnect else "on kept connections"
    sent = "prepared" if own.protocol == "prepared" else "as text"
    return f"{how}, {sent}, on the table of {own.table}: {' / '.join(words)}"


def _transaction(one: UserTransaction, total: int) -> str:
    share = f"{one.weight} of {total}: " if one.weight != total else ""
    statements = "; ".join(
        each.sql + (f" ({each.repeat} times)" if each.repeat > 1 else "") for each in one.statements
    )
    return share + (f"BEGIN; {statements}; COMMIT" if one.bracketed else statements)
