"""Workloads that read keys of a table that is at an external server already."""

from __future__ import annotations

from typing import Any

from tlstax.study.level_names import TABLE_RECONNECT, TABLE_SELECT
from tlstax.study.workloads.user_defined import UserWorkload


def reading_keys(table: str, column: str, low: int, high: int) -> dict[str, UserWorkload]:
    """Selects of one key of this range: on connections that are kept, and each on one of its own.

    The key alone is read, so that nothing of a row is kept or shown. The names have no backquote.
    """
    key, named = _braced(column), _braced(table)
    sql = f"SELECT `{key}` FROM `{named}` WHERE `{key}` = {{key}}"  # noqa: S608 (no backquote)
    drawn: dict[str, Any] = {"kind": "uniform_int", "low": low, "high": high}
    operation = {"transactions": [{"statements": [{"sql": sql, "parameters": {"key": drawn}}]}]}
    return {
        name: UserWorkload.model_validate({"name": name, **how, **operation})
        for name, how in (
            (TABLE_SELECT, {"protocol": "prepared"}),
            (TABLE_RECONNECT, {"reconnect": True}),
        )
    }


def _braced(name: str) -> str:
    """The name where braces stand for something."""
    return name.replace("{", "{{").replace("}", "}}")
