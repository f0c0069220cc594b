"""Where a specimen is made: the tree to fill, room to work in, and downloads that outlive a failure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Place:
    """`tree` becomes the specimen; `work` is removed afterwards; `downloads` is kept until it is whole.

    `log` in `work` has what the tools said.
    """

    tree: Path
    work: Path
    downloads: Path

    @property
    def log(self) -> Path:
        """What the tools said, all of it."""
        return self.work / "log"
