"""The machines that a run is to be spread over, as they were asked for."""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.cli import quantities
from tlstax.support.errors import UserMistake


@dataclass(frozen=True)
class AskedCluster:
    """The address of a Ray cluster's head, and the names of the machines that are wanted; empty for all."""

    address: str
    names: tuple[str, ...] = ()


def asked_cluster(ray: str | None, on: str | None) -> AskedCluster | None:
    """What --ray and --on ask for; None for this machine. UserMistake for --on alone, and for no name."""
    if ray is None:
        if on is not None:
            raise UserMistake(
                "--on goes with --ray", remedy="say which cluster's machines they are, or leave it out"
            )
        return None
    return AskedCluster(ray, quantities.names(on, "--on") if on is not None else ())
