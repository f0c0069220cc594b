"""Studies: the design, its files, and what options change of it."""

from tlstax.study.changes import RESUMED, at_rate, override
from tlstax.study.design import (
    DECIDES_AT_A_RATE,
    Case,
    Choice,
    Contrast,
    Exclusion,
    Level,
    Levels,
    Published,
    Role,
    Statement,
    Study,
    listed,
    within,
)
from tlstax.study.files import built_in_studies, load_study, parse_study, study_toml

__all__ = [
    "DECIDES_AT_A_RATE",
    "RESUMED",
    "Case",
    "Choice",
    "Contrast",
    "Exclusion",
    "Level",
    "Levels",
    "Published",
    "Role",
    "Statement",
    "Study",
    "at_rate",
    "built_in_studies",
    "listed",
    "load_study",
    "override",
    "parse_study",
    "study_toml",
    "within",
]
