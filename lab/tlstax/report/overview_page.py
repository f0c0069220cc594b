"""What the overview of a large study shows on the page, in its order, as plain values for the template."""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.records import RunDocument, StoredRun
from tlstax.report import outcome_names
from tlstax.report.ladders import Ladders, ladders, measured
from tlstax.report.overview import (
    STEPS_OF_LIBRARIES,
    STEPS_OF_TLS,
    Grid,
    contrast_maps,
    contrast_tables,
    own_map,
    own_table,
)
from tlstax.report.processes import Process, processes

SPENT = ("server_cpu_us_per_op", "server_instructions_per_op")
"""What else has a heat map beside the deciding outcome, where it was measured."""


@dataclass(frozen=True)
class LadderSet:
    """The ladders of all servers in one outcome."""

    title: str
    reading: str
    ladders: tuple[Ladders, ...]


@dataclass(frozen=True)
class MapSet:
    """Heat maps with one scale of shades."""

    title: str
    reading: str
    steps: tuple[float, ...]
    grids: tuple[Grid, ...]


@dataclass(frozen=True)
class Overview:
    """Everything that stands in place of the groups' sections."""

    contrast_tables: tuple[Grid, ...]
    own_table: Grid | None
    ladder_sets: tuple[LadderSet, ...]
    map_sets: tuple[MapSet, ...]
    processes: tuple[Process, ...]


def overview(stored: StoredRun, document: RunDocument) -> Overview:
    """The overview of a run."""
    return Overview(
        contrast_tables=contrast_tables(document),
        own_table=own_table(document),
        ladder_sets=_ladder_sets(stored, document),
        map_sets=_map_sets(document),
        processes=processes(stored, document),
    )


def _ladder_sets(stored: StoredRun, document: RunDocument) -> tuple[LadderSet, ...]:
    run, outcome = measured(stored), document.design.deciding_outcome
    whiskers = (
        "a dot is the geometric mean over blocks, its whisker the interval, drift of the machine included"
    )
    found: list[LadderSet] = []
    for name, least in {"server_cpu_us_per_op": 2, outcome: 1}.items():
        drawn = ladders(run, name, least_libraries=least)
        if drawn:
            title = f"{outcome_names.title(name)} with more and more connections"
            reading = f"To the right: connections, doubled step by step. Upwards: {outcome_names.words(name)}; {whiskers}."
            found.insert(0, LadderSet(title, reading, drawn))
    return tuple(found)


def _map_sets(document: RunDocument) -> tuple[MapSet, ...]:
    outcome = document.design.deciding_outcome
    found = []
    for name in dict.fromkeys((outcome, *SPENT)):
        better = outcome_names.better(name)
        grids = contrast_maps(document, name)
        if grids:
            reading = (
                f"Each figure is a ratio in the same blocks ({better}); “all” is pooled over connections. Hatched "
                "figures cannot be told from 1: their interval holds it, or the twins differ by as much."
            )
            found.append(
                MapSet(f"{outcome_names.title(name)}: library by case", reading, STEPS_OF_LIBRARIES, grids)
            )
    if (everything := own_map(document, outcome)) is not None:
        reading = (
            "Each figure is a ratio to the same server’s plaintext with as many connections, in the same blocks. "
            "Different servers may be compared by these ratios alone."
        )
        found.append(MapSet(everything.title, reading, STEPS_OF_TLS, (everything,)))
    return tuple(found)
