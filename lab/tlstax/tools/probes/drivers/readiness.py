"""Every driver that is known, as it stands now on this machine: what `drivers list` shows."""

from __future__ import annotations

import shutil
from typing import Literal

from tlstax.specimens.catalogue import RECIPES
from tlstax.study.driver_catalogue import DRIVERS, Driver
from tlstax.tools.probes.drivers.probe_document import ListedDriver, ListedDrivers
from tlstax.tools.probes.specimen import of_recipe


def listed_drivers() -> ListedDrivers:
    """All drivers, by language and name; what is built, and what building the others lacks here."""
    found = [_listed(name, driver) for name, driver in DRIVERS.items()]
    return ListedDrivers(drivers=tuple(sorted(found, key=lambda one: one.language)))


def _listed(name: str, driver: Driver) -> ListedDriver:
    status = _status(name)
    needs = () if status == "ready" else driver.needs
    return ListedDriver(
        name=name,
        product=driver.product,
        version=driver.version,
        language=driver.language,
        status=status,
        needs=driver.needs,
        missing=tuple(program for program in needs if shutil.which(program) is None),
    )


def _status(name: str) -> Literal["ready", "absent", "broken"]:
    recipe = RECIPES.get(name)
    return of_recipe(recipe).status if recipe is not None else "absent"
