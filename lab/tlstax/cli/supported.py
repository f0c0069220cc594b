"""What can be measured at which server, as a page: asked of what the code itself refuses.

A level of a factor is there at a product if some case with it is left out at none of its servers that can be
fetched (`study/exclusions.py`, `study/client_kinds.py`), and at external servers if it is not theirs alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product as combinations

from tlstax.run.external import ITS_OWN
from tlstax.specimens.server_recipes import SERVERS
from tlstax.study.case_workload import CaseWorkload
from tlstax.study.client_kinds import STREAMS, Wanted, kind_of
from tlstax.study.driver_catalogue import speaking
from tlstax.study.exclusions import BEFORE_1_3, THE_SERVER
from tlstax.study.factor import Factor
from tlstax.study.factors import FACTORS, CaseLevels, whys_not
from tlstax.study.level_names import BURN, ENGINE, POINT_SELECT, RECONNECT, STREAM, UNIX_SOCKET, Level
from tlstax.study.product import ProductName
from tlstax.study.server_abilities import ServerAbilities, abilities_named, of_postgresql


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

COMMANDS: Mapping[str, Knows] = {
    "run": (True, True, True, True, True),
    "study run": (True, True, True, True, True),
    "ab": (True, True, True, True, True),
    "storm": (True, True, True, True, False),
    "study run memory": (True, True, True, True, False),
    "inspect": (True, True, True, True, True),
    "advise": (True, True, True, True, True),
    "predict": (True, True, True, False, False),
    "drivers probe": (True, True, True, True, False),
}
"""Which servers each command measures, in the order of `PLACES`; its tests ask the commands themselves."""

BEGINNING = """\
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
    parts = [BEGINNING, "## Commands\n", *_table("command", _command_rows())]
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
