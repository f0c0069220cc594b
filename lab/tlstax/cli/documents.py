"""Every JSON document that a command prints: its type, JSON Schema and place on `docs/json.md`; all tables.

`python -m tlstax.cli.documents` in `lab/` writes the schemas and the pages, and what is supported where.

That is asked of what the code itself refuses: a level of a factor is there at a product if some case with it
is left out at none of its servers that can be fetched (`study/exclusions.py`, `study/client_kinds.py`), and
at external servers if it is not theirs alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product as combinations
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

from tlstax.contract.schemas import DIALECT
from tlstax.machines.listing import MachineListing
from tlstax.plan.order import Plan
from tlstax.report.formats.render import BenchTopic
from tlstax.report.run_tables import TABLES
from tlstax.results.document import BenchDocument, GateResult, RunComparison, RunDocument
from tlstax.results.explanation import Explanation
from tlstax.results.inspection import InspectedServer
from tlstax.results.rows import ToldOfRun
from tlstax.run.external import ITS_OWN
from tlstax.specimens.server_recipes import SERVERS
from tlstax.store.store import RunListing
from tlstax.study.case_workload import CaseWorkload
from tlstax.study.client_kinds import STREAMS, Wanted, kind_of
from tlstax.study.driver_catalogue import speaking
from tlstax.study.exclusions import BEFORE_1_3, THE_SERVER
from tlstax.study.factor import Factor
from tlstax.study.factors import FACTORS, CaseLevels, whys_not
from tlstax.study.level_names import BURN, ENGINE, POINT_SELECT, RECONNECT, STREAM, UNIX_SOCKET, Level
from tlstax.study.product import ProductName
from tlstax.study.server_abilities import ServerAbilities, abilities_named, of_postgresql
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


@dataclass(frozen=True)
class Place:
    """A column: servers of a product, private ones by their names, or external ones by their releases."""

    title: str
    product: ProductName
    is_external: bool
    servers: Mapping[str, ServerAbilities]

    @property
    def driver(self) -> str:
        """One of the drivers that connect there."""
        return speaking("postgresql" if self.product == "postgresql" else "mysql")[0]


def _private(product: ProductName) -> dict[str, ServerAbilities]:
    named = {recipe.name: abilities_named(recipe.name) for recipe in SERVERS}
    return {name: own for name, own in named.items() if own is not None and own.product == product}


PLACES = (
    Place("MySQL", "mysql", is_external=False, servers=_private("mysql")),
    Place("MariaDB", "mariadb", is_external=False, servers=_private("mariadb")),
    Place("PostgreSQL", "postgresql", is_external=False, servers=_private("postgresql")),
    Place(
        "external MySQL, MariaDB",
        "mysql",
        is_external=True,
        servers={**_private("mysql"), **_private("mariadb")},
    ),
    Place(
        "external PostgreSQL",
        "postgresql",
        is_external=True,
        servers={f"PostgreSQL {major}": of_postgresql(major) for major in range(10, 19)},
    ),
)

Knows = tuple[bool, bool, bool, bool, bool]

EVERYWHERE: Knows = (True, True, True, True, True)

COMMANDS: Mapping[str, Knows] = {
    **dict.fromkeys(("run", "study run", "ab", "storm", "study run memory", "inspect", "advise"), EVERYWHERE),
    "predict": (True, True, True, False, False),
    "drivers probe": (True, True, True, True, False),
}
"""Which servers each command measures, in the order of `PLACES`; its tests ask the commands themselves."""

SUPPORTED_BEGINNING = """\
# What is supported where

Written from the code by `python -m tlstax.cli.documents` in `lab/`; do not edit it. A private server is one
that tlstax fetches and starts, by its name; an external one is named by its address
([what it can rely on](external-servers.md)). Numbers in brackets are the reasons below the table.
"""


@dataclass
class _Notes:
    """The reasons of a table, each once, by their numbers."""

    all: list[str] = field(default_factory=list)

    def number(self, why: str) -> int:
        if why not in self.all:
            self.all.append(why)
        return self.all.index(why) + 1

    def lines(self) -> Iterator[str]:
        yield from (f"{place}. {why}" for place, why in enumerate(self.all, start=1))


def page() -> str:
    """The page, in Markdown."""
    parts = [SUPPORTED_BEGINNING, "## Commands\n", *_table("command", _command_rows())]
    parts += ["\n## What a study varies\n", FACTORS_BEGIN]
    notes = _Notes()
    parts += _table("factor and levels", _factor_rows(notes))
    return "\n".join([*parts, "", *notes.lines(), ""])


FACTORS_BEGIN = """\
[Studies](studies.md) says what each factor is. A level is there if some case with it can be measured: it may
need others, such as TLS, a client certificate or a driver. "Any" is any number, or any name of your own.
"""


def _table(first: str, rows: Iterator[tuple[str, Sequence[str]]]) -> Iterator[str]:
    yield f"| {first} | {' | '.join(place.title for place in PLACES)} |"
    yield "|---" * (len(PLACES) + 1) + "|"
    yield from (f"| {name} | {' | '.join(cells)} |" for name, cells in rows)


def _command_rows() -> Iterator[tuple[str, Sequence[str]]]:
    for name, knows in COMMANDS.items():
        yield f"`{name}`", ["yes" if known else "no" for known in knows]


def _factor_rows(notes: _Notes) -> Iterator[tuple[str, Sequence[str]]]:
    """Each factor's levels, those together of which the same is said."""
    for factor in FACTORS.values():
        if factor.name == "server":
            continue
        alike: dict[tuple[str, ...], list[str]] = {}
        for level in factor.levels or (None,):
            cells = tuple(_cell(factor, level, place, notes) for place in PLACES)
            alike.setdefault(cells, []).append("any" if level is None else f"`{level}`")
        for cells, levels in alike.items():
            yield f"`{factor.name}`: {', '.join(levels)}", cells


def _cell(factor: Factor, level: Level | None, place: Place, notes: _Notes) -> str:
    if why := _why_not_external(factor, level, place):
        return f"no ({notes.number(why)})"
    if level is None:
        return "yes"
    whys = {name: _why_not(factor, level, place, name) for name in place.servers}
    having = [name for name, why in whys.items() if not why]
    if len(having) == len(whys):
        return "yes"
    if not having:
        return f"no ({notes.number(next(iter(whys.values())))})"
    lacking = [name for name in whys if name not in having]
    names, which = (having, "only") if len(having) <= len(lacking) else (lacking, "not")
    return f"{which} {', '.join(names)}"


def _why_not_external(factor: Factor, level: Level | None, place: Place) -> str:
    """Why no external server has it (`run/external.py`); empty at private ones."""
    if not place.is_external:
        return ""
    if factor.name in ITS_OWN and (level is None or level != factor.default):
        return "an external server keeps what it has"
    if factor.name == "client" and not kind_of(str(level)).asks:
        return (
            "it does not tell what its connections negotiate, and an external server is not made to log that"
        )
    if factor.name == "path" and level == UNIX_SOCKET:
        return "an external server's Unix socket is an address of its own; PostgreSQL has no TLS there"
    return ""


def _why_not(factor: Factor, level: Level, place: Place, server: str) -> str:
    """Why nobody can measure it at this server, in no case that has what it may need; empty where one can."""
    abilities = place.servers[server]
    if factor.name == "tls" and str(level) in BEFORE_1_3 | {"1.3"} and level not in abilities.tls_versions:
        return f"its servers have no TLS {level}"
    why = ""
    for beside in _contexts(place):
        case = CaseLevels.of({**beside, "server": server, factor.name: level})
        workload = CaseWorkload.of(case, {}, abilities.product)
        wanted = Wanted(case, workload, server=abilities, product=abilities.product)
        reason = next(whys_not(wanted), "")
        if not reason:
            return ""
        why = why or reason
    return _told_of_any(why.replace(server, THE_SERVER), str(level))


def _told_of_any(why: str, level: str) -> str:
    """A reason that begins or ends with the level's name, in words that fit all levels that have it."""
    why = f"it {why.removeprefix(f'{level} ')}" if why.startswith(f"{level} ") else why
    return f"{why.removesuffix(level)}it" if why.endswith(f" {level}") else why


def _contexts(place: Place) -> Iterator[dict[str, Level]]:
    """What a case may have beside the level: the usual first."""
    usual: tuple[tuple[str, tuple[Level, ...]], ...] = (
        ("workload", (RECONNECT, POINT_SELECT)),
        ("client", (ENGINE, place.driver)),
        ("tls", ("1.3", "off")),
        ("client_certificate", ("off", "on")),
        ("protocol", ("default", "text")),
    )
    names = [name for name, _ in usual]
    for levels in combinations(*(levels for _, levels in usual)):
        yield dict(zip(names, levels, strict=True))
    yield {"workload": POINT_SELECT, "fault": BURN, "tls": "off"}
    # Nobody copies an external server (`run/external.py`).
    for kind in () if place.is_external else STREAMS:
        yield {"workload": STREAM, "client": kind.name}


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
        SUPPORTED_PAGE: page(),
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
