"""A fault or variant: a library of ours that is loaded into a server before all others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tlstax.records.trial import PlantedClaim, Specimen
from tlstax.study.level_names import BURN, COUNT_LOCKS
from tlstax.support.checksums import sha256_of


@dataclass(frozen=True)
class Fault:
    """A library, and the function in whose place it is called."""

    specimen: Specimen
    library: Path
    stands_for: str

    @property
    def has_page(self) -> bool:
        """Whether it shares a page with the laboratory (`burn_page`)."""
        return self.specimen.name == BURN

    @property
    def counts_locks(self) -> bool:
        """Whether it shares a page of counted locks (`lock_page`)."""
        return self.specimen.name == COUNT_LOCKS

    def claim(self) -> PlantedClaim:
        """What a process in which it is planted must show."""
        return PlantedClaim(name=self.specimen.name, sha256=sha256_of(self.library))
