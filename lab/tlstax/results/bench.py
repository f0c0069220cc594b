"""What is measured without being a run, as one document: a storm, libraries alone, the reader of bytes."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from tlstax.contract import Frozen
from tlstax.records.trial import Machine, Specimen
from tlstax.results.rows import Told
from tlstax.study import Level

BenchStatus = Literal["complete", "budget", "interrupted", "failed"]


class BenchDocument(Frozen):
    """The one document of a bench: measured at once, kept in no store.

    `told` has its rows, `facts` what was asked for and what is known besides, by names that the bench
    declares. `status` is "budget" where the budget ended it before its end; `stopped_because` says why it
    failed, and is empty otherwise. `seed` is null where nothing was drawn.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[2] = Field(default=2, alias="schema")
    bench: str
    status: BenchStatus
    stopped_because: str = ""
    started_at: str
    tlstax_version: str
    seed: int | None = None
    machine: Machine
    specimens: tuple[Specimen, ...] = ()
    facts: dict[str, Level | None]
    told: Told
    caveats: tuple[str, ...] = ()

    def fact(self, name: str) -> float:
        """A fact that is a number. KeyError for one that is not there, ValueError for one that is none."""
        return float(self.facts[name] or 0)
