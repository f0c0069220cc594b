"""Studies: the design, its files, and what options change of it."""

from tlstax.study.changes import along_paths, at_rate, check_nothing_is_lost, override
from tlstax.study.design import (
    Case,
    Contrast,
    Exclusion,
    Part,
    Pool,
    Role,
    Sides,
    Study,
    listed,
)
from tlstax.study.factors import Choice, within
from tlstax.study.files import built_in_studies, load_study, parse_study, study_toml
from tlstax.study.level_names import Level, Levels
from tlstax.study.published import (
    PROCESSOR_COLUMNS,
    Claim,
    Column,
    GrowthClaim,
    ProcessorColumn,
    ProcessorTable,
    Published,
    Statement,
    TimeRow,
    TimeTable,
)

__all__ = [
    "PROCESSOR_COLUMNS",
    "Case",
    "Choice",
    "Claim",
    "Column",
    "Contrast",
    "Exclusion",
    "GrowthClaim",
    "Level",
    "Levels",
    "Part",
    "Pool",
    "ProcessorColumn",
    "ProcessorTable",
    "Published",
    "Role",
    "Sides",
    "Statement",
    "Study",
    "TimeRow",
    "TimeTable",
    "along_paths",
    "at_rate",
    "built_in_studies",
    "check_nothing_is_lost",
    "listed",
    "load_study",
    "override",
    "parse_study",
    "study_toml",
    "within",
]
