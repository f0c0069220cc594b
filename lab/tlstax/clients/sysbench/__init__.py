"""sysbench as a load client: stands here until its adapter does, and says that there is none."""

from __future__ import annotations

from collections.abc import Callable

from tlstax.errors import MachineFault
from tlstax.records import Specimen


def sysbench_command(_progress: Callable[[str], None]) -> list[str]:
    """The command that starts the adapter; MachineFault, because there is none."""
    raise MachineFault("this version has no adapter for sysbench")


def sysbench_specimen(_progress: Callable[[str], None]) -> Specimen:
    """What it is; MachineFault as above."""
    raise MachineFault("this version has no adapter for sysbench")
