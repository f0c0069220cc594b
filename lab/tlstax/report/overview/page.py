"""What the overview of a large study shows on the page, in its order, as plain values for the template."""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.findings.core.naming import LIBRARY
from tlstax.findings.core.twins import INSTANCE
from tlstax.records.trial import StoredRun
from tlstax.report.core import outcome_names
from tlstax.report.core.ladders import Ladders, ladders, measured
from tlstax.report.core.processes import Process, processes
from tlstax.report.overview.grids import (
    LADDER,
    STEPS_OF_LIBRARIES,
    STEPS_OF_TLS,
    Grid,
    contrast_maps,
    contrast_tables,
    own_map,
    own_table,
)
from tlstax.report.overview.pool import pool_table
from tlstax.results.document import RunDocument
from tlstax.study.needs import needs_distance

CPU = "server_cpu_us_per_op"
SPENT = (CPU, "server_instructions_per_op")
"""What else has a heat map beside the deciding outcome, where it was measured."""

BY_CASE = (
    "Each figure is a ratio in the same blocks ({better}); “all” is pooled over connections. Hatched figures "
    "cannot be told from 1: their interval holds it, or twins differ by as much."
)
TO_OWN = (
    "Each figure is a ratio to the same server’s plaintext with as many connections, in the same blocks. "
    "Different servers may be compared by these ratios alone."
)


@dataclass(frozen=True)
class LadderSet:
    """The ladders of several servers in one outcome; what is folded away shows when asked for."""

    title: str
    reading: str
    ladders: tuple[Ladders, ...]
    folded: bool


@dataclass(frozen=True)
class MapSet:
    """Heat maps with one scale of shades."""

    title: str
    reading: str
    steps: tuple[float, ...]
    grids: tuple[Grid, ...]
    folded: bool


@dataclass(frozen=True)
class Overview:
    """Everything that stands in place of the groups' sections."""

    pool_table: Grid | None
    contrast_tables: tuple[Grid, ...]
    own_table: Grid | None
    ladder_sets: tuple[LadderSet, ...]
    map_sets: tuple[MapSet, ...]
    processes: tuple[Process, ...]


def overview(stored: StoredRun, document: RunDocument) -> Overview:
    """The overview of a run."""
    return Overview(
        pool_table=pool_table(document),
        contrast_tables=contrast_tables(document),
        own_table=own_table(document),
        ladder_sets=_ladder_sets(stored, document),
        map_sets=_map_sets(document),
        processes=processes(stored, document),
    )


def _ladder_sets(stored: StoredRun, document: RunDocument) -> tuple[LadderSet, ...]:
    """Servers over several libraries first; servers over one, and what was spent, folded away."""
    run, outcome = measured(stored), document.design.deciding_outcome
    drawn = ladders(run, outcome)
    if len(document.design.levels_of().get(LADDER, ())) < 2 or needs_distance(document.design):
        return ()
    several = tuple(found for found in drawn if len(found.styles) > 1)
    alone = tuple(found for found in drawn if len(found.styles) == 1)
    spent = ladders(run, CPU, least_libraries=2) if outcome != CPU else ()
    name = outcome_names.title(outcome)
    sets = (
        LadderSet(f"{name}, step by step", _climbing(outcome), several, folded=False),
        LadderSet(f"{name}, step by step: one library alone", _climbing(outcome), alone, folded=True),
        LadderSet(f"{outcome_names.title(CPU)}, step by step", _climbing(CPU), spent, folded=True),
    )
    return tuple(found for found in sets if found.ladders)


def _compared(document: RunDocument) -> str:
    """What a study's contrasts compare, in a word; twins are only for the noise floor."""
    factors = (contrast.factor for contrast in document.design.contrasts)
    factor = next((factor for factor in factors if factor != INSTANCE), INSTANCE)
    return "library" if factor == LIBRARY else factor.replace("_", " ")


def _climbing(outcome: str) -> str:
    return (
        f"To the right: more connections. Upwards: {outcome_names.words(outcome)} "
        f"({outcome_names.better(outcome)}). A dot is the geometric mean over blocks, its whisker the "
        "interval, drift of the machine included."
    )


def _map_sets(document: RunDocument) -> tuple[MapSet, ...]:
    outcome = document.design.deciding_outcome
    found = []
    for name in dict.fromkeys((outcome, *SPENT)):
        if grids := contrast_maps(document, name):
            title = f"{outcome_names.title(name)}: {_compared(document)} by case"
            reading = BY_CASE.format(better=outcome_names.better(name))
            found.append(MapSet(title, reading, STEPS_OF_LIBRARIES, grids, folded=name != outcome))
    if (everything := own_map(document, outcome)) is not None:
        found.append(MapSet(everything.title, TO_OWN, STEPS_OF_TLS, (everything,), folded=bool(found)))
    return tuple(found)
