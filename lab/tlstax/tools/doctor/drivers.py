"""A check of what drivers are built with: which of them can be measured here, and what the others lack."""

from __future__ import annotations

import shutil

from tlstax.specimens import shelf
from tlstax.specimens.catalogue import RECIPES
from tlstax.specimens.sources.driver import PACKAGES
from tlstax.study import listed
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.tools.doctor.check import Check


def drivers() -> Check:
    """Which drivers are built already, and which cannot be built because a program is missing."""
    built = [name for name in DRIVERS if shelf.present(RECIPES[name]) is not None]
    programs = dict.fromkeys(program for driver in DRIVERS.values() for program in driver.needs)
    missing = [program for program in programs if shutil.which(program) is None]
    without = [
        name
        for name, driver in DRIVERS.items()
        if name not in built and any(program in missing for program in driver.needs)
    ]
    there = [program for program in programs if program not in missing]
    absent = f"; no {listed(missing)}" if missing else ""
    if without:
        meaning = f"{listed(without)} cannot be measured; all others are built when they are needed."
    else:
        meaning = "Every driver can be built when it is needed, by its own package manager."
    return Check(
        name="drivers",
        status="limited" if without else "ok",
        found=f"{len(built)} of {len(DRIVERS)} built; {listed(there)}{absent}",
        meaning=meaning,
        remedy=f"install {listed([PACKAGES.get(program, program) for program in missing])}"
        if without
        else "",
    )
