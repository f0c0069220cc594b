"""A driver as a load client: built if it is not there, and the command that starts its program."""

from __future__ import annotations

from tlstax.clients.borrowed import borrowed
from tlstax.clients.engine import tool_command
from tlstax.records.trial import Specimen
from tlstax.specimens import shelf
from tlstax.specimens.catalogue import RECIPES
from tlstax.specimens.progress import Progress
from tlstax.specimens.resolve import named_server, specimen_of
from tlstax.study.driver_catalogue import DRIVERS, FOLDER_VARIABLE
from tlstax.support.errors import UserMistake


def obtain(name: str, progress: Progress) -> tuple[Specimen, list[str]]:
    """The driver of that name and the command that starts it behind the contract.

    UserMistake where the list has it no more; MachineFault when it cannot be built, or when the server that
    its program comes with cannot be had.
    """
    if name not in DRIVERS:
        raise UserMistake(
            f"there is no driver {name} among those that are known here",
            remedy=f"if it is in a folder of your own, set {FOLDER_VARIABLE} to that folder",
        )
    driver = DRIVERS[name]
    kept = shelf.obtain(RECIPES[name], progress)
    command = [str(kept.program)]
    if driver.specimen is not None:
        build = named_server(driver.specimen, progress, why=f"{name} comes with it")
        command += borrowed(build, driver.program)[1]
    if driver.adapter:
        command = [*tool_command("driver"), name, *command]
    return specimen_of(kept, f"{driver.product}, a driver for {driver.language}"), command
