"""Which names a value is completed with: by its parameter, from the tables that check it when it is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from tlstax.cli.command_tree import Command, Parameter
from tlstax.cli.export_command import ExportFormat
from tlstax.report.formats.render import FORMATS, OF_BENCHES
from tlstax.specimens.catalogue import RECIPES
from tlstax.study.changes import RESUMED
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.study.factor import Factor
from tlstax.study.factors import FACTORS
from tlstax.study.files import built_in_studies
from tlstax.study.level_names import OWN
from tlstax.study.outcomes import OUTCOMES


@dataclass(frozen=True)
class Kind:
    """Names of one kind: those that are known beforehand, and where others come from.

    With `asked` the program prints more of them (`names.py`), with `files` paths of files are some too.
    Those of a list stand with commas between.
    """

    words: tuple[str, ...] = ()
    asked: bool = False
    files: bool = False
    is_list: bool = False


def _specimens(kind: str) -> tuple[str, ...]:
    return tuple(name for name, recipe in RECIPES.items() if recipe.kind == kind)


_LIBRARIES = _specimens("tls_library")


def _levels(factor: Factor) -> Kind | None:
    """The names of a factor's levels; None where they are numbers or any words."""
    if factor.name == "server":
        return Kind(_specimens("server"), asked=True, is_list=True)
    if factor.name == "tls" and factor.levels:
        return Kind((*factor.levels, f"1.2{RESUMED}", f"1.3{RESUMED}"), is_list=True)
    if factor.form == "specimen":
        return Kind((OWN, *_LIBRARIES), is_list=True)
    return Kind(factor.levels, is_list=True) if factor.levels else None


def _settings() -> tuple[str, ...]:
    """What --set takes: each factor with its names, one at a time, or without where it takes numbers."""
    found = {name: _levels(factor) for name, factor in FACTORS.items()}
    return tuple(f"{name}={word}" for name, kind in found.items() for word in (kind.words if kind else ("",)))


KINDS: dict[str, Kind] = {
    "runs": Kind(("last",), asked=True),
    "packs": Kind(("last",), asked=True, files=True),
    "studies": Kind(built_in_studies(), files=True),
    "settings": Kind(_settings()),
    "outcomes": Kind(tuple(OUTCOMES), is_list=True),
    "drivers": Kind(tuple(DRIVERS)),
    "specimens": Kind(tuple(RECIPES)),
    "libraries": Kind(_LIBRARIES, is_list=True),
    "formats": Kind(tuple(FORMATS)),
    "bench-formats": Kind(OF_BENCHES),
    "export-formats": Kind(get_args(ExportFormat)),
    "spacings": Kind(("poisson", "uniform")),
    "files": Kind(files=True),
} | {f"factor-{name}": kind for name, factor in FACTORS.items() if (kind := _levels(factor))}
"""By the names that scripts know them by."""

_BY_PARAMETER = {
    "run_name": "runs",
    "run": "runs",
    "beside": "runs",
    "resume": "runs",
    "runs": "packs",
    "settings": "settings",
    "outcomes": "outcomes",
    "library": "libraries",
    "arrivals": "spacings",
    "format_name": "bench-formats",
    "format_": "export-formats",
    "server_host": "",
    **dict.fromkeys(
        (
            "report",
            "output",
            "file",
            "ssl_ca",
            "trust",
            "ssl_cert",
            "ssl_key",
            "defaults_file",
            "mysqld",
            "libssl",
        ),
        "files",
    ),
}
_BY_PLACE = {
    ("report", "format_name"): "formats",
    ("ab", "a"): "settings",
    ("ab", "b"): "settings",
    ("study", "name"): "studies",
    ("specimens", "names"): "specimens",
    ("drivers", "names"): "drivers",
    ("inspect", "server"): "",
    ("advise", "server"): "",
}
"""Where a parameter's own name does not say it: by the first word that leads to the command as well."""


def kind_of(command: Command, parameter: Parameter) -> str:
    """The kind in KINDS by which a parameter's value is completed; empty where nothing is known of it."""
    placed = _BY_PLACE.get((command.words[0], parameter.name)) if command.words else None
    if placed is not None:
        return placed
    factor = f"factor-{parameter.name}"
    return _BY_PARAMETER.get(parameter.name, factor if factor in KINDS else "")


def named_parameters() -> frozenset[str]:
    """The parameters that are spoken of here, all of which there should be."""
    return frozenset({*_BY_PARAMETER, *(name for _, name in _BY_PLACE)})
