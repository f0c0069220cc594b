"""Measures anew what comes with tlstax of drivers, and writes the files: `setup/renew-drivers`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tlstax.cli.exit import guarded
from tlstax.cli.progress import ProgressLine
from tlstax.cli.streams import show
from tlstax.store import open_store
from tlstax.study.driver_catalogue import DRIVERS, speaking
from tlstax.study.product import Family
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest
from tlstax.tools.probes.drivers import driver_facts
from tlstax.tools.probes.postgres_drivers import driver_facts as postgres_driver_facts
from tlstax.topics.inspection import known_drivers
from tlstax.topics.inspection.known_drivers import FILES, KnownDrivers

FOLDER = Path(known_drivers.__file__).parent
FAMILIES: tuple[Family, ...] = ("mysql", "postgresql")


def renew(*names: str, folder: Path = FOLDER) -> dict[Family, KnownDrivers]:
    """Measure these drivers (none: all of them) and write their files, in which others stay as they are.

    UserMistake for a name that is none; MachineFault where a driver or a server is not to be had.
    """
    for name in names:
        if name not in DRIVERS:
            raise UserMistake(f"there is no driver {name}{closest(name, DRIVERS)}")
    found: dict[Family, KnownDrivers] = {}
    for family in FAMILIES:
        wanted = [name for name in speaking(family) if not names or name in names]
        if wanted:
            found[family] = _measured(family, wanted, folder / FILES[family])
    return found


def _measured(family: Family, names: Sequence[str], file: Path) -> KnownDrivers:
    """What was measured of these, written beside what is kept of the others of their family."""
    measure = {
        "mysql": driver_facts.measured_drivers,
        "postgresql": postgres_driver_facts.measured_drivers,
    }[family]
    with closing(ProgressLine()) as watcher:
        found = measure(names, open_store, watcher)
    if set(names) != set(speaking(family)) and file.exists():
        old = KnownDrivers.model_validate_json(file.read_text(encoding="utf-8"))
        renewed = {driver.name: driver for driver in (*old.drivers, *found.drivers)}
        ordered = tuple(renewed[name] for name in DRIVERS if name in renewed)
        found = found.model_copy(update={"drivers": ordered})
    file.write_text(found.text(), encoding="utf-8")
    show(f"{file.name}: {len(found.drivers)} drivers, {found.at}\n")
    return found


if __name__ == "__main__":
    sys.exit(guarded(lambda: renew(*sys.argv[1:])))
