"""What is wrong with a study, as a clause for a person."""

from __future__ import annotations

from pydantic import ValidationError

from tlstax.contract import Frozen
from tlstax.errors import UserMistake
from tlstax.factors import closest
from tlstax.study.design import (
    Claim,
    Column,
    Contrast,
    Exclusion,
    Part,
    ProcessorTable,
    Published,
    Statement,
    Study,
    TimeRow,
    TimeTable,
)

PARTS: dict[str, type[Frozen]] = {
    "exclude": Exclusion,
    "contrasts": Contrast,
    "statements": Statement,
    "published": Published,
    "parts": Part,
    "processor_tables": ProcessorTable,
    "time_tables": TimeTable,
    "sides": Column,
    "claims": Claim,
    "rows": TimeRow,
}
"""Fields that are tables with fields of their own, of a study and of what is in it."""


def rebuilt(study: Study, where: str, **changes: object) -> Study:
    """The study with these fields changed, checked anew; UserMistake that begins with `where`."""
    try:
        return Study.model_validate({**dict(study), **changes})
    except ValidationError as fault:
        raise UserMistake(f"{where}: {first_fault(fault)}") from fault


def first_fault(fault: ValidationError) -> str:
    """One fault of a validation in a clause: the field, what is wrong, what is allowed.

    A field that does not exist comes first: it is often why another one is missing.
    """
    first = min(fault.errors(), key=lambda error: error["type"] != "extra_forbidden")
    place = [str(part) for part in first["loc"] if part not in {"str", "int"}]
    field = ".".join(place)
    if first["type"] == "extra_forbidden":
        inner = next((name for name in reversed(place[:-1]) if name in PARTS), "")
        known = PARTS.get(inner, Study).model_fields
        return f"there is no field {field}{closest(place[-1], known)}; the fields are {', '.join(known)}"
    if first["type"] == "missing":
        return f"the field {field} is missing"
    if place and place[0] in {"factors", "treatments", "baseline"} and first["type"].endswith("_type"):
        return f"field {field}: {first['input']!r} is not a level (text in quotes, or a whole number)"
    message = first["msg"].removeprefix("Value error, ")
    return f"field {field}: {message} (it is {first['input']!r})" if field else message
