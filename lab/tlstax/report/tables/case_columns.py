"""The columns that name a case: one for each factor, and one for the options that drivers were given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tlstax.study import Case, Level, Study
from tlstax.study.factors import FACTORS, Factor
from tlstax.study.labels import CONTROL_MARK, full_label
from tlstax.study.level_names import OPTION
from tlstax.topics.core.columns import Column, ColumnType

Side = Literal["case", "baseline"]

RUN = Column("run", "TEXT", "the run's name")
BLOCK = Column(
    "block", "INTEGER", "the block, from 0; −1 before them is of captured trials, −2 and −3 of counted ones"
)
POSITION = Column("position", "INTEGER", "the trial's place in its block, from 0")
ROLE = Column("role", "TEXT", "baseline, control (the baseline once more) or treatment")
LABEL = Column("label", "TEXT", "the case in the words of the report")


def case_columns(side: Side) -> tuple[Column, ...]:
    """A column for each factor that a study may vary: empty where a study does not."""
    ours = "" if side == "case" else "of what it is compared with: "
    return (
        *(Column(f"{side}_{one.name}", _type(one), f"{ours}{one.meaning}") for one in FACTORS.values()),
        Column(
            f"{side}_options", "TEXT", f"{ours}options of the driver that the study varies, name=level; …"
        ),
    )


def case_values(side: Side, levels: Mapping[str, Level]) -> dict[str, Level | None]:
    """The levels in these columns; the mark of a control has none."""
    options = "; ".join(
        f"{name.removeprefix(OPTION)}={level}" for name, level in levels.items() if name.startswith(OPTION)
    )
    named = {f"{side}_{name}": level for name, level in levels.items() if name in FACTORS}
    return {**named, f"{side}_options": options or None}


def label_of(levels: Mapping[str, Level], role: str, study: Study) -> str:
    """What the report calls a case, which may lack levels that it was pooled over."""
    own = {name: level for name, level in levels.items() if name not in CONTROL_MARK}
    return full_label(Case(levels=own, role="control" if role == "control" else "treatment"), study)


def _type(factor: Factor) -> ColumnType:
    if factor.levels is not None or factor.specimens or factor.words:
        return "TEXT"
    return "REAL" if factor.decimals else "INTEGER"
