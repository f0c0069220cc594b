"""Every JSON document that a command prints: its type, JSON Schema and place on `docs/json.md`; all tables.

`python -m tlstax.cli.documents` in `lab/` writes the schemas and the pages, and what is supported where.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

from tlstax.cli import supported
from tlstax.contract.schemas import DIALECT
from tlstax.machines.listing import MachineListing
from tlstax.plan.order import Plan
from tlstax.report.formats.render import BenchTopic
from tlstax.report.run_tables import TABLES
from tlstax.results.document import BenchDocument, GateResult, RunComparison, RunDocument
from tlstax.results.explanation import Explanation
from tlstax.results.inspection import InspectedServer
from tlstax.results.rows import ToldOfRun
from tlstax.store.store import RunListing
from tlstax.tools.doctor.check import Diagnosis
from tlstax.tools.librarybench import costs as libraries
from tlstax.tools.probes import long_results
from tlstax.tools.probes import storm_search as storms
from tlstax.tools.probes.drivers.probed import ListedDrivers, ProbeDocument
from tlstax.tools.probes.external_memory import ExternalMemory
from tlstax.tools.probes.postgres_drivers.document import PostgresProbe
from tlstax.tools.probes.specimen import Listing
from tlstax.topics.advice.advise import Advice
from tlstax.topics.answer.export import ExportedRun
from tlstax.topics.core.columns import Column, Table
from tlstax.topics.prediction.prediction import Prediction

ROOT = Path(__file__).resolve().parents[3]
SCHEMAS, PAGE, TABLES_PAGE, SUPPORTED_PAGE = (
    ROOT / "contract" / "printed",
    ROOT / "docs" / "json.md",
    ROOT / "docs" / "tables.md",
    ROOT / "docs" / "supported.md",
)

Schema = dict[str, Any]


@dataclass(frozen=True)
class Printed:
    """A document: the name of its schema, the type that it is, and the commands that print it."""

    name: str
    type: type[BaseModel]
    commands: tuple[str, ...]


PRINTED = (
    Printed(
        "run",
        RunDocument,
        (
            "run --json",
            "study run NAME --json",
            "report RUN --format json",
            "predict --validate --json",
        ),
    ),
    Printed("explain", Explanation, ("explain RUN --json",)),
    Printed("explain-locks", ToldOfRun, ("explain RUN --json",)),
    Printed("study-plan", Plan, ("study plan NAME --json",)),
    Printed("runs-export", ExportedRun, ("runs export RUN",)),
    Printed("runs-list", RunListing, ("runs list --json",)),
    Printed("compare", RunComparison, ("compare RUN RUN --json",)),
    Printed("compare-limits", GateResult, ("compare RUN RUN --max-regression 5% --json",)),
    Printed("drivers-list", ListedDrivers, ("drivers list --json",)),
    Printed("drivers-probe", ProbeDocument, ("drivers probe --json",)),
    Printed("drivers-probe-postgresql", PostgresProbe, ("drivers probe --server postgresql-18 --json",)),
    Printed("memory", ExternalMemory, ("study run memory --set server=mysql://USER@HOST --json",)),
    Printed("bench", BenchDocument, ("storm --json", "library-bench --json", "self-bench --bytes --json")),
    Printed("specimens-list", Listing, ("specimens list --json",)),
    Printed("inspect", InspectedServer, ("inspect URL --json",)),
    Printed("advise", Advice, ("advise URL --json",)),
    Printed("predict", Prediction, ("predict --json",)),
    Printed("doctor", Diagnosis, ("doctor --json",)),
    Printed("machines", MachineListing, ("machines --ray ADDRESS --json",)),
)

BENCHES: tuple[tuple[BenchTopic, tuple[Column, ...]], ...] = (
    (storms.TOPIC, storms.FACTS),
    (libraries.TOPIC, libraries.FACTS),
    (long_results.TOPIC, long_results.FACTS),
)
"""What a bench's rows have of their own, and its facts."""

BEGINNING = """\
# JSON documents

Written from the types by `python -m tlstax.cli.documents` in `lab/`; do not edit it. Each document has a
field `schema`: it goes up when a field is removed or changes its meaning, not when one is added.
[contract/printed/](../contract/printed/) has the JSON Schema (draft
2020-12) of each. Units are the last word of a name: `connect_us` is microseconds, `rss_bytes` bytes.
"""


def schema_of(printed: Printed) -> Schema:
    """The JSON Schema of what is printed: every field is there, defaults too."""
    return {"$schema": DIALECT, **TypeAdapter(printed.type).json_schema(mode="serialization")}


def documents() -> dict[Path, str]:
    """The text of every generated file by its path."""
    schemas = {printed.name: schema_of(printed) for printed in PRINTED}
    written = {
        SCHEMAS / f"{name}.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in schemas.items()
    }
    return {
        **written,
        PAGE: _page(schemas),
        TABLES_PAGE: tables_page(),
        SUPPORTED_PAGE: supported.page(),
    }


TABLES_BEGIN = """\
# Tables

Written from the definitions by `python -m tlstax.cli.documents` in `lab/`; do not edit it. These are the
columns of the store's SQL views and of `tlstax runs export --rows` ([store.md](store.md)). Units are the
last word of a name; what is empty was not measured, or does not apply. TEXT is UTF-8, INTEGER whole
numbers of 64 bits, REAL floating-point numbers of 64 bits; yes and no are 1 and 0.
"""


def tables_page() -> str:
    """The tables as a page for people: each column with its type, its unit and its meaning."""
    return "\n".join([TABLES_BEGIN, *(_table_section(table) for table in TABLES.values())])


def _table_section(table: Table) -> str:
    key = ", ".join(f"`{name}`" for name in table.key)
    rows = "\n".join(_column_lines(table.columns))
    return f"## {table.name}\n\nA row is {table.one_row}; its key is {key}.\n\n{rows}\n"


def _column_lines(columns: tuple[Column, ...]) -> Iterator[str]:
    yield "| column | type | unit | meaning |"
    yield "|---|---|---|---|"
    for column in columns:
        meaning = column.meaning.replace("|", r"\|").replace("<", r"\<")
        yield f"| `{column.name}` | {column.type} | {column.unit} | {meaning} |"


def write() -> None:
    """Write the generated files."""
    SCHEMAS.mkdir(exist_ok=True)
    for path, text in documents().items():
        path.write_text(text, encoding="utf-8")


def _page(schemas: Mapping[str, Schema]) -> str:
    """Each document with its fields, then every type that they are made of, once."""
    parts = [BEGINNING]
    types: dict[str, Schema] = {}
    for printed in PRINTED:
        schema = schemas[printed.name]
        own = schema.get("$defs", {})
        titles = _titles(own, types, printed)
        types |= {titles[name]: _renamed(found, titles) for name, found in own.items()}
        commands = ", ".join(f"`tlstax {command}`" for command in printed.commands)
        file = f"../contract/printed/{printed.name}.schema.json"
        parts += [
            f"## {printed.name}",
            f"{commands} ([schema]({file}))",
            *_described(_renamed(schema, titles)),
        ]
        if printed.type is BenchDocument:
            parts += _benches()
    parts.append("## Types")
    for name in sorted(types):
        parts += [f"### {name}", *_described(types[name])]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _benches() -> Iterator[str]:
    """The facts of each bench, and the columns of its rows."""
    for topic, facts in BENCHES:
        yield f"`{topic.name}`, its `facts`:"
        yield "\n".join(_column_lines(facts))
        if topic.columns:
            yield f"`{topic.name}`, what is in `more` of its rows:"
            yield "\n".join(_column_lines(topic.columns))


def _titles(own: Mapping[str, Schema], types: Mapping[str, Schema], printed: Printed) -> dict[str, str]:
    """What a document's types are called on the page.

    Each by its name, unless another document has another type of that name: one that differs itself, or is
    made of one that does.
    """
    titles = {name: name for name in own}
    while others := {
        name: f"{name}-of-{printed.name}"
        for name, found in own.items()
        if titles[name] == name and name in types and types[name] != _renamed(found, titles)
    }:
        titles |= others
    return titles


def _renamed(value: Any, titles: Mapping[str, str]) -> Any:
    """The schema with its references by the titles that types have on the page."""
    if isinstance(value, dict):
        return {
            key: titles[str(inside).rpartition("/")[2]] if key == "$ref" else _renamed(inside, titles)
            for key, inside in value.items()
        }
    return [_renamed(inside, titles) for inside in value] if isinstance(value, list) else value


def _described(schema: Schema) -> Iterator[str]:
    if "description" in schema:
        yield _escaped(schema["description"])
    if "properties" in schema:
        rows = (f"| `{name}` | {_words(field)} |" for name, field in schema["properties"].items())
        yield "\n".join(("| field | type |", "|---|---|", *rows))
    else:
        yield _words(schema)


def _words(field: Schema) -> str:
    """A field's type in a few words; types with fields of their own are linked."""
    match field:
        case {"$ref": name}:
            words = f"[{name}](#{str(name).lower()})"
        case {"const": value}:
            words = f"`{json.dumps(value)}`"
        case {"enum": values}:
            words = " or ".join(f"`{json.dumps(value, ensure_ascii=False)}`" for value in values)
        case {"anyOf": choices} | {"oneOf": choices}:
            words = " or ".join(dict.fromkeys(map(_words, choices)))
        case {"type": "array", "prefixItems": places}:
            words = f"list of {', '.join(map(_words, places))}"
        case {"type": "array", "items": inside}:
            words = f"list of {_words(inside)}"
        case {"type": "object", "additionalProperties": dict(values)}:
            words = f"object of {_words(values)}"
        case _:
            words = str(field.get("type", "anything"))
    return words


def _escaped(text: str) -> str:
    """A docstring as Markdown: its lines joined paragraph by paragraph, Python's None as JSON has it."""
    paragraphs = (
        " ".join(paragraph.split()) for paragraph in re.sub(r"\bNone\b", "null", text).split("\n\n")
    )
    return "\n\n".join(paragraph.replace("<", r"\<").replace("|", r"\|") for paragraph in paragraphs)


if __name__ == "__main__":
    write()
