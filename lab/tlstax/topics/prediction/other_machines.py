"""Parts measured on another machine: those that come with tlstax, brought to this one by a few mixes. Pure.

A file for each server has what a run of the study `components` measured, and on which machine;
`setup/renew-parts RUN` writes it. A prediction fits the parts to it as it does to a run of this machine.

What a part costs here is taken to be what it cost there, times how fast this machine is, and off by a share
that parts of a kind have in common and by one of its own. Those shares are drawn from normal distributions
(`SHARES`), of which the measured mixes then leave what agrees with them: a linear regression with an
informative prior, whose posterior is normal again. Its variances are multiplied until each measured mix,
predicted from all others, is as far off as they say, and never made smaller.

Sources: Gelman et al. (2013), Bayesian Data Analysis, 3rd edition, section 14.8 (regression with an
informative prior); Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, equations 2.25,
2.26 (the posterior) and 5.12 (leaving out one after the other without fitting anew); Birge (1932), Physical
Review 40, 207 (variances multiplied by what the residuals show).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from math import exp, hypot, inf
from typing import Literal

import numpy as np
from pydantic import Field, PositiveInt

from tlstax.contract import Frozen
from tlstax.records.beforehand import Scaling
from tlstax.stats.contrasts import PROCESSES
from tlstax.study import Level, Study, load_study, override
from tlstax.topics.prediction.model import (
    COUNTS,
    PATH_CPU,
    SERVER_CPU,
    Calibrated,
    Fit,
    MeasuredMix,
    Origin,
    calibration_of,
    study_of,
)
from tlstax.topics.prediction.parts import COMPRESSION, LARGE, PREPARING, THROUGH, UNDER_TLS, parts_of

SHIPPED = ("mysql-9.7", "mariadb-11.8", "postgresql-18")
"""The servers whose parts come with tlstax; the first stands in for those of no known product."""


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
    mixes: tuple[MeasuredMix, ...]

    def study(self) -> Study:
        """The study that was carried out."""
        study = load_study(study_of(self.server))
        for factor, levels in self.factors.items():
            study = override(study, factor, [str(level) for level in levels])
        return study

    def calibrated(self) -> Calibrated:
        """What the parts cost on that machine."""
        origin = Origin(self.run, self.at, self.server, self.processor, self.study(), self.remark)
        return calibration_of(origin, self.mixes)

    def text(self) -> str:
        """The file, a mix a line, so that a new run changes lines and not all of it."""
        head = self.model_dump_json(by_alias=True, exclude={"mixes"})
        lines = ",\n".join(own.model_dump_json(exclude_defaults=True) for own in self.mixes)
        return f'{head[:-1]},"mixes":[\n{lines}\n]}}\n'


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
    file = resources.files("tlstax.topics.prediction") / file_of(server)
    return ShippedParts.model_validate_json(file.read_text(encoding="utf-8"))


SHARES = {"clear": 0.10, "handshake": 0.15, "encryption": 0.25, "compression": 0.15, "path": 0.20}
"""By what share a part is off beside a machine's speed, by its kind: once for all parts of the kind, and once
more for each. What was seen between MySQL 9.7 on two processors is less (docs/predicting.md); between two
servers it is more, which the measured mixes then show."""

SPEED = 0.15
"""By what share the speed may be off that the mean of the measured mixes gives."""

ANOTHER_MACHINE = 0.5
"""The same where nothing was measured here: one machine in twenty is more than 2.7 times as fast or slow.
That is taken so, and not measured: of the two that were, one took 1.8 times as long as the other."""

CELL = 0.03
"""By what share a mix is off that was measured for a second or two."""

LATER = 0.03
"""By what share a quiet machine is faster or slower in another hour: known mixes cost 6 % less and 3 % more
when they were measured again (docs/predicting.md). One that differs by more from block to block will do so
later as well."""

ONE_BLOCK = 0.15
"""The same where there was time for one block alone, which shows nothing of it: a machine with so little time
was as unquiet as this when it was seen (docs/predicting.md)."""

COUNTED = 0.002
"""By what share counts are off, whose ids have more digits or fewer."""

MOST_TIMES = 1000.0
"""How far the variances of the shares are multiplied. What is still not explained then multiplies all."""


@dataclass(frozen=True)
class _Scaled:
    """A fit as it is here, the machine's speed, and by what share each mix was off that was left out.

    `unquiet` is by what share the machine was faster or slower from block to block.
    """

    fit: Fit
    speed: float = 1.0
    left_out: tuple[float, ...] = ()
    unquiet: float = 0.0


def scaled(parts: Calibrated, here: Sequence[MeasuredMix], origin: Origin) -> Calibrated:
    """The parts as they cost here, by these mixes that were measured here, in the run of `origin`."""
    busy = _scaled(parts.busy[SERVER_CPU], here, max(parts.fits), SERVER_CPU)
    scaling = Scaling(
        run=origin.run,
        at=origin.at,
        server=origin.server,
        processor=origin.processor,
        mixes=len({own.mix for own in here}),
        speed=busy.speed,
        left_out_error=_root_mean_square(busy.left_out) if busy.left_out else 0.0,
        unquiet=busy.unquiet,
    )

    def change(fit: Fit, connections: int, outcome: str) -> Fit:
        if outcome == PATH_CPU:  # Of a path's own programs nothing was measured here.
            return _with_room(fit, busy.speed, SPEED)
        return _scaled(fit, here, connections, outcome).fit

    return _changed(parts, change, scaling)


def unscaled(parts: Calibrated) -> Calibrated:
    """The parts as they cost on the machine where they were measured, with room for that this is another."""

    def change(fit: Fit, _: int, outcome: str) -> Fit:
        return fit if outcome in COUNTS else _with_room(fit, 1.0, ANOTHER_MACHINE)

    nowhere = Scaling(
        run=None,
        at="",
        server=parts.origin.server,
        processor="",
        mixes=0,
        speed=1.0,
        left_out_error=0.0,
        unquiet=0.0,
    )
    return _changed(parts, change, nowhere)


def _changed(parts: Calibrated, change: Callable[[Fit, int, str], Fit], scaling: Scaling) -> Calibrated:
    """Every fit changed, by the connections at once and the outcome that it is of; those of paths too."""
    fits = {
        connections: {name: change(fit, connections, name) for name, fit in of_all.items()}
        for connections, of_all in parts.fits.items()
    }
    through = {path: _changed(own, change, scaling) for path, own in parts.through.items()}
    return replace(parts, fits=fits, through=through, scaling=scaling)


def _root_mean_square(values: Sequence[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _scaled(fit: Fit, here: Sequence[MeasuredMix], connections: int, outcome: str) -> _Scaled:
    """The fit as it is here, by the mixes that tell of it."""
    is_count = outcome in COUNTS
    own = [mix for mix in here if mix.connections == connections]
    cells = [
        (parts, mix.values[outcome])
        for mix in own
        if mix.values.get(outcome, 0.0) > 0 and fit.knows(parts := parts_of(mix.mix))
    ]
    if not cells:
        return _Scaled(fit if is_count else _with_room(fit, 1.0, ANOTHER_MACHINE))
    scatters = [mix.scatter[outcome] for mix in own if outcome in mix.scatter]
    unquiet = _root_mean_square(scatters) if scatters else ONE_BLOCK
    amounts = np.array([[parts.get(name, 0.0) for name in fit.names] for parts, _ in cells])
    measured = np.array([value for _, value in cells])
    ratios = measured / (amounts @ fit.costs)
    speed = 1.0 if is_count else exp(float(np.mean(np.log(ratios))))
    before = replace(fit, costs=speed * fit.costs, covariance=speed**2 * fit.covariance)
    prior = _prior(before)
    together = 0.0 if is_count else SPEED
    added = before.covariance + together**2 * np.outer(before.costs, before.costs)
    noise = np.diag((measured * (COUNTED if is_count else hypot(fit.unexplained, CELL))) ** 2)
    residuals = measured - amounts @ before.costs
    times, spread = 1.0, inf
    while spread > 1 and times <= MOST_TIMES:
        covariance = times * prior + added
        inverse = np.linalg.inv(amounts @ covariance @ amounts.T + noise)
        left_out = (inverse @ residuals) / np.diag(inverse)
        spread = float(np.mean(left_out**2 * np.diag(inverse)))
        times *= max(spread, 1.05)
    gain = covariance @ amounts.T @ inverse
    costs = before.costs + gain @ residuals
    left = max(1.0, spread) * (covariance - gain @ amounts @ covariance)
    here_fit = replace(
        fit,
        costs=costs,
        covariance=left,
        spare=min(fit.spare, len(cells)),
        speed=0.0 if is_count else hypot(PROCESSES, max(LATER, unquiet)),
    )
    return _Scaled(here_fit, speed, tuple(float(off) for off in left_out / measured), unquiet)


def _prior(fit: Fit) -> np.ndarray:
    """The covariance of what parts are off by beside a machine's speed."""
    kinds = [_kind(name) for name in fit.names]
    alike = np.array([[float(own == other) for other in kinds] for own in kinds])
    off = np.array([SHARES[kind] for kind in kinds]) * fit.costs
    covariance: np.ndarray = np.outer(off, off) * (alike + np.eye(len(kinds)))
    return covariance


def _with_room(fit: Fit, speed: float, off: float) -> Fit:
    """All parts `speed` times as costly, in common by the share `off` wrong, and one by one by their own."""
    there = replace(fit, costs=speed * fit.costs, covariance=speed**2 * fit.covariance, speed=off)
    return replace(there, covariance=there.covariance + _prior(there))


def _kind(part: str) -> str:
    """Of which of `SHARES` a part is."""
    if THROUGH in part:
        return "path"
    if part.startswith(COMPRESSION) or " under z" in part:
        return "compression"
    if part.endswith(UNDER_TLS):
        return "encryption"
    in_the_clear = ("connection", "login", "statement", "KiB", "buffer", PREPARING, LARGE)
    return "clear" if part.startswith(in_the_clear) else "handshake"
