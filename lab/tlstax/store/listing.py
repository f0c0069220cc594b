"""The document that `runs list --json` prints."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from tlstax.contract import Frozen
from tlstax.store.store import RunSummary, UnreadableRun


class RunListing(Frozen):
    """Every run that is kept, the newest first; `unreadable` are those of which no more is known."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    runs: tuple[RunSummary, ...]
    unreadable: tuple[UnreadableRun, ...] = ()
