"""What is wrong with a study, as a clause for a person."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tlstax.contract import Digits, Frozen, Offset, OneOf
from tlstax.study.design import Contrast, Exclusion, Part, Pool, Study
from tlstax.study.published import (
    Claim,
    Column,
    GrowthClaim,
    ProcessorTable,
    Published,
    Statement,
    TimeRow,
    TimeTable,
)
from tlstax.study.workloads.user_defined import (
    UserSequence,
    UserStatement,
    UserTransaction,
    UserUniformInt,
    UserWorkload,
)
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest

PARTS: dict[str, type[Frozen]] = {
    "exclude": Exclusion,
    "contrasts": Contrast,
    "statements": Statement,
    "growth_claims": GrowthClaim,
    "published": Published,
    "parts": Part,
    "pool": Pool,
    "processor_tables": ProcessorTable,
    "time_tables": TimeTable,
    "sides": Column,
    "claims": Claim,
    "rows": TimeRow,
}
"""Fields that are tables with fields of their own, of a study and of what is in it."""


def rebuilt(study: Study, where: str, **changes: object) -> Study:
    """The study with these fields changed, checked anew; UserMistake that begins with `where`."""
    return built(where, **{**dict(study), **changes})


def built(where: str, **fields: object) -> Study:
    """The study with these fields; UserMistake that begins with `where` where it is none."""
    try:
        return Study.model_validate(fields)
    except ValidationError as fault:
        raise UserMistake(f"{where}: {first_fault(fault)}") from fault


KINDS: dict[str, type[Frozen]] = {
    "uniform_int": UserUniformInt,
    "sequence": UserSequence,
    "offset": Offset,
    "digits": Digits,
    "one_of": OneOf,
}
"""Parameters of a user's workload by their kind."""

WORKLOAD_PARTS: dict[str, type[Frozen]] = {
    "transactions": UserTransaction,
    "statements": UserStatement,
    **KINDS,
}
"""Tables within a user's workload by their field, parameters by their kind."""

BOUNDS = frozenset({"low", "high", "first", "last"})

TYPE_WORDS = {
    "a valid tuple": "a list",
    "a valid dictionary or object to extract fields from": "a table",
    "a valid dictionary": "a table",
    "a valid string": "text in quotes",
    "a valid integer": "a whole number",
}
"""What TOML calls things, for the names that pydantic gives them."""


def first_fault(fault: ValidationError, of: type[BaseModel] = Study) -> str:
    """One fault of a validation in a clause: the field, what is wrong, what is allowed.

    A field that does not exist comes first: it is often why another one is missing. `of` is what the text
    is to be, a study or a user's workload.
    """
    first = min(fault.errors(), key=lambda error: error["type"] != "extra_forbidden")
    place = [str(part) for part in first["loc"] if part not in {"str", "int"}]
    field = ".".join(part for part in place if part not in KINDS)
    if first["type"] == "extra_forbidden":
        known = _fields_beside(place, of)
        return f"there is no field {field}{closest(place[-1], known)}; the fields are {', '.join(known)}"
    if first["type"] == "missing":
        return f"the field {field} is missing"
    if place and place[0] in {"factors", "treatments", "baseline"} and first["type"].endswith("_type"):
        return f"field {field}: {first['input']!r} is not a level (text in quotes, or a whole number)"
    if problem := _parameter_fault(first, place):
        return f"field {field}: {problem}"
    message = first["msg"].removeprefix("Value error, ").replace("Input should be", "it must be")
    for theirs, ours in TYPE_WORDS.items():
        message = message.replace(theirs, ours)
    if first["type"] == "value_error" and isinstance(first["input"], dict | BaseModel):
        return f"field {field}: {message}" if field else message
    return f"field {field}: {message} (it is {first['input']!r})" if field else message


def _parameter_fault(error: ErrorDetails, place: list[str]) -> str:
    """What is wrong with a parameter of a user's workload, where pydantic's words would not help."""
    if error["type"] in {"union_tag_invalid", "union_tag_not_found"}:
        given = dict(error["input"]).get("kind")
        wrong = f"there is no kind {given!r}{closest(str(given), KINDS)}" if given else "its kind is missing"
        return f"{wrong}; the kinds are {', '.join(KINDS)}"
    if place and place[-1] in BOUNDS and place[-2] in KINDS:
        return f'{error["input"]!r} is neither a whole number nor "rows"'
    return ""


def _fields_beside(place: list[str], of: type[BaseModel]) -> Collection[str]:
    """The fields that there are where a field was given that does not exist."""
    if of is Study and place[0] != "workloads":
        return PARTS.get(
            next((name for name in reversed(place[:-1]) if name in PARTS), ""), Study
        ).model_fields
    inner = [WORKLOAD_PARTS[part] for part in place[:-1] if part in WORKLOAD_PARTS]
    return (inner[-1] if inner else UserWorkload).model_fields
