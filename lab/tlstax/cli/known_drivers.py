"""Measures anew what comes with tlstax of drivers, and writes the file: `setup/renew-drivers`."""

from __future__ import annotations

import sys
from pathlib import Path

from tlstax.cli.exit import guarded
from tlstax.cli.progress import ProgressLine
from tlstax.cli.streams import show
from tlstax.store import open_store
from tlstax.study.driver_catalogue import DRIVERS, speaking
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest
from tlstax.tools.probes.drivers.driver_facts import measured_drivers
from tlstax.topics.inspection import known_drivers
from tlstax.topics.inspection.known_drivers import KnownDrivers

FILE = Path(known_drivers.__file__).parent / known_drivers.FILE


def renew(*names: str, file: Path = FILE) -> KnownDrivers:
    """Measure these drivers (none: all of them) and write the file, in which the others stay as they are.

    UserMistake for a name that is none, or is of a driver of PostgreSQL; MachineFault where a driver or a
    server is not to be had.
    """
    for name in names:
        if name not in DRIVERS:
            raise UserMistake(f"there is no driver {name}{closest(name, DRIVERS)}")
        if DRIVERS[name].speaks != "mysql":
            raise UserMistake(
                f"{name} speaks PostgreSQL's protocol, and what is kept is of drivers of MySQL and MariaDB",
                remedy=f"`tlstax run --server postgresql-18 --client {name}` measures it",
            )
    watcher = ProgressLine(quiet=False)
    try:
        found = measured_drivers(names or speaking("mysql"), open_store, watcher)
    finally:
        watcher.close()
    if names and file.exists():
        old = KnownDrivers.model_validate_json(file.read_text(encoding="utf-8"))
        renewed = {driver.name: driver for driver in (*old.drivers, *found.drivers)}
        ordered = tuple(renewed[name] for name in DRIVERS if name in renewed)
        found = found.model_copy(update={"drivers": ordered})
    file.write_text(found.text(), encoding="utf-8")
    show(f"{file.name}: {len(found.drivers)} drivers, {found.at}\n")
    return found


if __name__ == "__main__":
    sys.exit(guarded(lambda: renew(*sys.argv[1:])))
