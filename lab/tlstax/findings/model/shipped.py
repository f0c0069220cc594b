"""Measurements of parts that come with tlstax, for machines on which none were made yet. Pure.

A file for each server has what a run of the study `components` measured, and on which machine;
`setup/renew-parts RUN` writes it. A prediction fits the parts to it as it does to a run of this machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Literal

from pydantic import Field, PositiveFloat, PositiveInt

from tlstax.contract import Frozen
from tlstax.findings.model.calibration import (
    READ,
    ROUND_TRIPS,
    STUDY,
    Calibrated,
    MeasuredMix,
    Origin,
    calibration_of,
    mixes_of,
)
from tlstax.records.trial import StoredRun
from tlstax.study import Level, Study, load_study, override
from tlstax.study.mixes import Mix

SHIPPED = ("mysql-9.7", "mariadb-11.8")
"""The servers whose parts come with tlstax; the first stands in for those of no known product."""

DIGITS = 6
"""Significant ones of what is kept: more than any of it is known to."""


class ShippedMix(Frozen):
    """A mix as it was measured: the geometric means of its outcomes over blocks."""

    mix: Mix
    connections: PositiveInt
    blocks: PositiveInt
    values: dict[str, PositiveFloat]


class ShippedParts(Frozen):
    """A run's measurements and where they are from.

    `factors` are the levels of the study that it was run with, `remark` what else went on at the machine.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    run: str
    at: str
    tlstax_version: str
    server: str
    server_version: str
    tls_library: str
    processor: str
    cores: PositiveInt
    virtualization: str | None
    distribution: str
    remark: str
    factors: dict[str, tuple[Level, ...]]
    mixes: tuple[ShippedMix, ...]

    def study(self) -> Study:
        """The study that was carried out."""
        study = load_study(STUDY)
        for factor, levels in self.factors.items():
            study = override(study, factor, [str(level) for level in levels])
        return study

    def calibrated(self) -> Calibrated:
        """What the parts cost on that machine."""
        origin = Origin(self.run, self.at, self.server, self.processor, self.study(), self.remark)
        measured = [MeasuredMix(own.mix, own.connections, 0.0, own.values, own.blocks) for own in self.mixes]
        return calibration_of(origin, measured)

    def text(self) -> str:
        """The file, a mix a line, so that a new run changes lines and not all of it."""
        head = self.model_dump_json(by_alias=True, exclude={"mixes"})
        lines = ",\n".join(own.model_dump_json(exclude_defaults=True) for own in self.mixes)
        return f'{head[:-1]},"mixes":[\n{lines}\n]}}\n'


def shipped_of(stored: StoredRun, server: str, remark: str) -> ShippedParts:
    """What a run of `components` measured of this server. MachineFault where it cannot be read."""
    header = stored.header
    named = {own.kind: own.version for own in header.specimens if own.kind == "tls_library"}
    (version,) = (own.version for own in header.specimens if (own.kind, own.name) == ("server", server))
    default = load_study(STUDY).levels_of()
    factors = {
        name: levels for name, levels in header.study.levels_of().items() if levels != default.get(name)
    }
    return ShippedParts(
        run=header.run,
        at=header.started_at,
        tlstax_version=header.tlstax_version,
        server=server,
        server_version=version,
        tls_library=named.get("tls_library", ""),
        processor=header.machine.cpu_model,
        cores=header.machine.cores,
        virtualization=header.machine.virtualization,
        distribution=header.machine.distribution,
        remark=remark,
        factors={name: tuple(levels) for name, levels in factors.items()},
        mixes=tuple(_kept(mixes_of(stored, server))),
    )


def _kept(measured: tuple[MeasuredMix, ...]) -> Iterator[ShippedMix]:
    for own in measured:
        values = {
            name: float(f"{value:.{DIGITS}g}")
            for name, value in own.values.items()
            if name in {*READ, ROUND_TRIPS} and value > 0
        }
        yield ShippedMix(mix=own.mix, connections=own.connections, blocks=own.blocks, values=values)


def stand_in(server: str) -> str:
    """The server among `SHIPPED` whose parts are nearest: itself, else the same product's."""
    product = server.split("-", maxsplit=1)[0]
    same = (name for name in SHIPPED if name.split("-")[0] == product)
    return server if server in SHIPPED else next(same, SHIPPED[0])


def file_of(server: str) -> str:
    """The name of its file, beside this module."""
    return f"parts-{server}.json"


@cache
def shipped_parts(server: str) -> ShippedParts:
    """What comes with tlstax of one of `SHIPPED`."""
    file = resources.files("tlstax.findings.model") / file_of(server)
    return ShippedParts.model_validate_json(file.read_text(encoding="utf-8"))
