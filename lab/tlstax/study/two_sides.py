"""Two things set against each other in one run, with twins where they are servers. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import sqrt
from types import MappingProxyType

from tlstax.study.changes import RESUMED, override
from tlstax.study.design import Sides, Study
from tlstax.study.factor import check_level
from tlstax.study.factors import SERVER_FACTORS, CaseLevels, check_factor
from tlstax.study.files import built
from tlstax.study.level_names import Level
from tlstax.study.server_abilities import ServerAbilities
from tlstax.support.credentials import quoted
from tlstax.support.errors import UserMistake

NAME = "ab"
INSTANCE = "instance"

OF_A, OF_B = (1, 2), (3, 4)
"""The processes of either side, where the sides are servers."""

DECIDING, DECIDES_WITHOUT_CPU = "server_cpu_us_per_op", "ops_per_s"
"""The outcome that the precision is for; at an external server the CPU time may be out of reach."""

COMMON: Mapping[str, tuple[str, ...]] = {
    "tls": ("1.3",),
    "workload": ("point-select", "reconnect"),
    "connections": ("8",),
}
"""What both sides do unless they are told otherwise."""


def side_of(settings: Iterable[str], option: str, external: Collection[str] = ()) -> dict[str, Level]:
    """The levels of one side, as `--a server=mysql-9.7` gives them. Raises UserMistake.

    `external` are levels of `server` that are no specimens.
    """
    found: dict[str, Level] = {}
    for setting in settings:
        name, equals, level = (part.strip() for part in setting.partition("="))
        if not equals or not level:
            raise UserMistake(
                f"{option}: {quoted(setting)} names no level",
                remedy=f"write it like {option} server=mysql-9.7",
            )
        if name == INSTANCE:
            raise UserMistake(
                f"{option}: {INSTANCE} tells the processes of a side apart", remedy="leave it out"
            )
        if name in found:
            raise UserMistake(f"{option}: {name} is given twice", remedy="give one level of it to each side")
        known = check_factor(name, where=option)
        if name == "tls" and level.endswith(RESUMED):
            level, found["resumption"] = level.removesuffix(RESUMED), "on"
        also = external if name == "server" else ()
        found[name] = check_level(known, level, where=option, also=also)
    if not found:
        raise UserMistake(
            f"{option} is missing", remedy=f"write {option} server=mysql-9.7, or another factor"
        )
    return found


def two_sided(  # noqa: PLR0913 (each is a choice of its own, the last three with a default)
    a: Mapping[str, Level],
    b: Mapping[str, Level],
    common: Mapping[str, Sequence[str]],
    *,
    precision: float,
    by_set: Collection[str] = (),
    external: Collection[str] = (),
    abilities: Mapping[str, ServerAbilities] = MappingProxyType({}),
) -> Study:
    """The study that tells what b changes beside a, to `precision`; `common` are levels that both have.

    `by_set` are those of their factors that were given by `--set`, for sentences about them. A factor that
    one side alone names is at its plain level on the other. `external` are levels of `server` that are no
    specimens: such a server is one process, which goes on from block to block, so that no side has twins;
    `abilities` are what such servers can do, as far as that is known. Raises UserMistake.
    """
    sides = Sides(a=_whole(a, b, "--a"), b=_whole(b, a, "--b"))
    named = {*common.get("server", ()), *(str(own["server"]) for own in (a, b) if "server" in own)}
    has_external = not named.isdisjoint(external)
    if sides.a == sides.b and has_external:
        raise UserMistake(
            "both sides are the same external server, of which there are no two processes",
            remedy="let them differ, in a server or in another factor",
        )
    are_servers = sides.a == sides.b or any(name in SERVER_FACTORS for name in sides.a)
    are_servers = are_servers and not has_external
    bundles: list[dict[str, Level]] = [sides.a, sides.b]
    if are_servers:
        bundles = [
            {**levels, INSTANCE: number}
            for levels, numbers in ((sides.a, OF_A), (sides.b, OF_B))
            for number in numbers
        ]
    study = built(
        "--a, --b",
        name=NAME,
        title="B beside A",
        question="What does B change beside A?",
        treatments=tuple(bundles),
        baseline=bundles[0],
        deciding_outcome=DECIDES_WITHOUT_CPU if has_external else DECIDING,
        # Of four processes the means of two are compared, which scatter less than one beside one does.
        precision=precision * (sqrt(2) if are_servers else 1),
        budget_s=300,
        rows=10_000,
        new_processes=not has_external or not named <= set(external),
        sides=sides,
        servers=dict(abilities),
    )
    for factor, levels in {**COMMON, **common}.items():
        option = f"--set {factor}" if factor in by_set else f"--{factor}"
        if factor in sides.a:
            if factor in common:
                raise UserMistake(f"{option} is for both sides, and they differ in it", remedy="leave it out")
            continue
        if factor == "tls" and "resumption" in sides.a:
            _check_common_tls(levels, option)
        study = override(study, factor, tuple(levels), option=option, external=external)
    return study


def _check_common_tls(levels: Sequence[str], option: str) -> None:
    """UserMistake where both sides resume by this option, and one of them by its own level."""
    for level in levels:
        if level.endswith(RESUMED):
            raise UserMistake(
                f"{option}: with {level} both sides resume, and they differ in resumption",
                remedy="write 1.3",
            )


def _whole(own: Mapping[str, Level], other: Mapping[str, Level], option: str) -> dict[str, Level]:
    """The side's levels, with those of factors that the other side alone names at what is plain."""
    plain = CaseLevels()
    found = {}
    for name in dict.fromkeys((*own, *other)):
        level = own.get(name, getattr(plain, name, None))
        if level is None:
            raise UserMistake(
                f"{option} says nothing of {name}, and nothing goes without saying there",
                remedy=f"add {option} {name}=LEVEL",
            )
        found[name] = level
    return dict(sorted(found.items()))
