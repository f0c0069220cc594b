"""A study with other levels, another load: what options of the command line ask for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tlstax.contract import OpenLoop
from tlstax.study.client_kinds import FLOOR, PGBENCH
from tlstax.study.design import DECIDES_AT_A_RATE, Contrast, Exclusion, Study, listed
from tlstax.study.factor import check_level
from tlstax.study.factors import FACTORS, Choice, check_factor, within
from tlstax.study.files import check_tables, matching, rebuilt, with_workload_files
from tlstax.study.level_names import (
    DIRECT,
    ENGINE,
    KEPT_BESIDE_MADE,
    LEFT_TO_THE_DRIVER,
    OWN,
    POINT_SELECT,
    Level,
    Levels,
)
from tlstax.study.published import Published
from tlstax.support.credentials import quoted
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest, enumerated

OWN_OPTIONS = frozenset(factor.name for factor in FACTORS.values() if factor.has_option)
"""Factors that `tlstax run` has an option for; a mistake is reported by that name."""

RESUMED = "-resumed"
"""Ends a TLS level on the command line to ask for resumption: "1.3-resumed"."""


def override(
    study: Study, factor: str, levels: Sequence[str], *, option: str = "", external: Collection[str] = ()
) -> Study:
    """The study with other levels of one factor, as `--tls 1.2,1.3-resumed` and `--set` ask for.

    `option` is what the user wrote, by which a mistake is reported; else the option of `tlstax run`.
    `external` are levels of `server` that are no specimens.

    A factor that the study lacks is added. Where the baseline names the factor, its level stays, first,
    whether asked for or not: there must be something to compare with. `tls` takes a shorthand:
    "1.3-resumed" is TLS 1.3 with resumption, and brings the factor `resumption` along. `workload` takes files
    of the user's own workloads, which become part of the study. Any other factor
    that is bundled with others in treatments can be narrowed, not widened. Parts and published tables that
    no case is left for are left out. Raises UserMistake.
    """
    own = f"--{factor.replace('_', '-')}" if factor in OWN_OPTIONS else f"--set {factor}"
    where = option or own
    study = _without_giving_way(study, factor, levels)
    changed = matching(_with_levels(study, factor, levels, where, external))
    check_tables(changed, where)
    return changed


def check_nothing_is_lost(study: Study, options: Mapping[str, str]) -> None:
    """UserMistake where no case is left of a level that was asked for: why the first that had it is left out.

    `options` are the factors whose levels somebody chose, each with what they were typed as ("--tls"); of the
    others a study may leave out what it likes. Of two sides each must have every level that both were given.
    """
    if study.sides is None:
        _check_each_level_is_left(study, options, {})
        return
    for option, side in (("--a", study.sides.a), ("--b", study.sides.b)):
        _check_each_level_is_left(study, {**options, **dict.fromkeys(side, option)}, side)


def _check_each_level_is_left(study: Study, options: Mapping[str, str], side: Levels) -> None:
    """What `check_nothing_is_lost` asks of the cases with the levels of a side. Raises UserMistake."""
    if "tls" in options:  # It may have been typed as 1.3-resumed.
        options = {"resumption": options["tls"], **options}
    left = {item for levels in study.included() if within(levels, side) for item in levels.items()}
    for factor, option in options.items():
        asked = (side[factor],) if factor in side else study.levels_of().get(factor, ())
        for level in asked:
            if (factor, level) in left:
                continue
            lost = (why for case, why in study.excluded() if case[factor] == level and within(case, side))
            why = next((exclusion.why for exclusion in lost), "")
            raise UserMistake(
                f"{option}: nothing is left to be measured with {factor} = {level}: {why}",
                remedy="leave that level out, or choose what it goes with",
            )


def _with_levels(
    study: Study, factor: str, levels: Sequence[str], where: str, external: Collection[str]
) -> Study:
    known = check_factor(factor, where=where)
    if not levels:
        raise UserMistake(f"{where}: no level is given")
    if factor == "tls":
        return _with_tls(study, levels, where)
    if factor == "workload":
        study, levels = with_workload_files(study, levels, where)
    also = study.workloads if factor == "workload" else external if factor == "server" else ()
    checked = [check_level(known, level, where=where, also=also) for level in levels]
    chosen = _with_baseline(study, factor, checked)
    if any(factor in treatment for treatment in study.treatments):
        return _narrowed(study, factor, chosen, where, external)
    published = study.published if factor in study.levels_of() else _beside_first(study, factor, chosen[0])
    return rebuilt(study, where, factors={**study.factors, factor: chosen}, published=published)


def _without_giving_way(study: Study, factor: str, levels: Sequence[str]) -> Study:
    """The study without the exclusions that give way to somebody who asks for these levels."""
    asked = {factor: tuple(levels)}
    if factor == "tls":
        asked = {
            "tls": tuple(level.removesuffix(RESUMED) for level in levels),
            "resumption": tuple("on" for level in levels if level.endswith(RESUMED)),
        }
    kept = tuple(
        exclusion
        for exclusion in study.exclude
        if not any(exclusion.gives_way(name, known) for name, known in asked.items())
    )
    return study if kept == study.exclude else study.model_copy(update={"exclude": kept})


def _beside_first(study: Study, factor: str, level: Level) -> tuple[Published, ...]:
    """The published figures, each beside the case with this level of a factor that the study did not have."""
    return tuple(
        figure.model_copy(update={"beside": {**figure.beside, factor: level}}) if figure.beside else figure
        for figure in study.published
    )


def along_paths(study: Study, paths: Sequence[str], where: str = "--path") -> Study:
    """The study along these paths, each compared with being connected directly, as `--path` asks for.

    A path that none of its cases can take is a mistake, as is a word that is no path. Raises UserMistake.
    """
    asked = [str(check_level(FACTORS["path"], path, where=where)) for path in paths]
    changed = rebuilt(
        study,
        where,
        factors={**study.factors, "path": tuple(dict.fromkeys([DIRECT, *asked]))},
        baseline={**study.baseline, "path": DIRECT},
    )
    taken = {levels["path"] for levels in changed.included()}
    for path in asked:
        if path not in taken:
            why = next(exclusion.why for case, exclusion in changed.excluded() if case["path"] == path)
            raise UserMistake(f"{where}: {why}", remedy="choose another path, or other levels beside it")
    return changed


def by_addresses(study: Study, names: Sequence[str]) -> Study:
    """The study by these addresses of an external server, each compared with its own, as `--address` asks.

    What a way costs beside it is told of each TLS level, too.
    """
    beside = Contrast(factor="address", baseline=DIRECT)
    return rebuilt(
        study,
        "--address",
        factors={**study.factors, "address": tuple(dict.fromkeys([DIRECT, *names]))},
        baseline={**study.baseline, "address": DIRECT},
        contrasts=(*study.contrasts, beside),
    )


def trusting(study: Study, few: int, many: int) -> Study:
    """The study with N authorities in clients' files, `many` beside `few`, as `--trust` asks.

    A file is read where a connection is made: so its cases make one for each operation, unless others were
    asked for. What many cost beside few is told of each TLS level. A study that has other numbers of
    authorities has these instead.
    """
    encrypted = tuple(level for level in study.levels_of().get("tls", ()) if level != "off")
    if not encrypted:
        raise UserMistake("--trust: in the clear no authority is needed", remedy="name TLS levels with --tls")
    in_the_clear = Exclusion(levels={"trust": many, "tls": "off"}, why="in the clear no authority is needed")
    beside = Contrast(factor="trust", baseline=few)
    return rebuilt(
        study,
        "--trust",
        factors={**study.factors, "trust": (few, many)},
        baseline={**study.baseline, "trust": few},
        exclude=(*(own for own in study.exclude if "trust" not in own.levels), in_the_clear),
        contrasts=(*(own for own in study.contrasts if own.factor != "trust"), beside),
    )


def over_client_library(study: Study, name: str, where: str = "--client-tls-library") -> Study:
    """The study whose clients load this TLS library, but for those that keep the one they come with."""
    library = check_level(FACTORS["client_tls_library"], name, where=where)
    taking = {ENGINE, FLOOR, PGBENCH}
    bundles = study.treatments or ({},)
    return rebuilt(
        study,
        where,
        treatments=tuple(
            {**own, "client_tls_library": library if own.get("client", ENGINE) in taking else OWN}
            for own in bundles
        ),
        baseline={**study.baseline, "client_tls_library": library},
    )


def without_by(study: Study, names: Collection[str], *, tls: bool) -> Study:
    """The study without `tls` by these addresses, where none is offered; or without cases in the clear there.

    The latter where nobody is let in without TLS.
    """
    levels = tuple(level for level in study.levels_of().get("tls", ()) if (level != "off") is tls)
    if not names or not levels:
        return study
    why = "no TLS is offered there" if tls else "nobody is let in there without TLS"
    exclusion = Exclusion(levels={"address": tuple(names), "tls": levels}, why=why)
    return rebuilt(study, "--address", exclude=(*study.exclude, exclusion))


def at_rate(study: Study, schedule: OpenLoop) -> Study:
    """The study in an open loop, as `--rate` asks for; a latency decides where throughput did."""
    decides = DECIDES_AT_A_RATE if study.deciding_outcome == "ops_per_s" else study.deciding_outcome
    return rebuilt(study, "--rate", schedule=schedule, deciding_outcome=decides)


def at_external_servers(study: Study, servers: Collection[str | None]) -> Study:
    """The study without cases in which a client of another maker makes connections to these servers anew.

    They are levels of `server`, None for one that no case names. The engine opens the next only once the
    server is done with the last; others do not look, so that nobody could promise how many the server has at
    once. UserMistake where nothing is left of such a client there.
    """
    levels = study.levels_of()
    others = tuple(name for name in levels.get("client", ()) if name != ENGINE)
    there = [case for case in study.included() if case.server in servers]
    made = {
        str(case["workload"]): None
        for case in there
        if "workload" in case and study.workload_of(case).makes_connections
    }
    if not others or not made:
        return study
    why = "it does not wait until the server is done with connections that it has closed"
    keeping = {case.client for case in there if not study.workload_of(case).makes_connections}
    for name in others:
        if name not in keeping:
            raise UserMistake(
                f"{name} keeps no connections in {enumerated(made)}, and {why}: how many an external server "
                "has at once could not be promised",
                remedy=f"choose --workload {POINT_SELECT}, or measure a private server",
            )
    left_out: dict[str, Choice] = {"client": others, "workload": tuple(made)}
    if "server" in levels:
        left_out["server"] = tuple(name for name in servers if name is not None)
    exclusion = Exclusion(levels=left_out, why=why)
    return rebuilt(study, "--client", exclude=(*study.exclude, exclusion))


def without_plaintext(study: Study) -> Study | None:
    """The study without its cases in the clear: the first of the others is what they are compared with.

    Cases that make their connections anew are also compared with those that keep them. None where plaintext
    is not the study's baseline, or nothing is left.
    """
    encrypted = [level for level in study.levels_of().get("tls", ()) if level != "off"]
    if study.baseline.get("tls") != "off" or not encrypted:
        return None
    left = tuple(treatment for treatment in study.treatments if treatment.get("tls", encrypted[0]) != "off")
    factors = dict(study.factors)
    if "tls" in factors:
        factors["tls"] = tuple(encrypted)
    first = next((one for one in left if one.get("resumption", "off") == "off"), left[0] if left else {})
    baseline = {name: first.get(name, level) for name, level in study.baseline.items()}
    baseline["tls"] = first.get("tls", encrypted[0])
    workloads = study.levels_of().get("workload", ()) if "workload" not in baseline else ()
    for kept, made in KEPT_BESIDE_MADE:
        if kept in workloads and made in workloads:
            beside = Contrast(factor="workload", baseline=kept, within={"workload": (kept, made)})
            study = study.model_copy(update={"contrasts": (*study.contrasts, beside)})
    return rebuilt(study, "--tls", factors=factors, treatments=left, baseline=baseline)


def without_tables(study: Study) -> Study | None:
    """The study with statements that read nothing in place of point selects; None for other work."""
    selects, pings = KEPT_BESIDE_MADE[:2]
    instead = dict(zip(selects, pings, strict=True))
    named = study.levels_of().get("workload", ())
    if "workload" not in study.factors or any(level not in instead for level in named):
        return None
    changed = tuple(instead[str(level)] for level in named)
    return rebuilt(study, "--workload", factors={**study.factors, "workload": changed})


def _with_tls(study: Study, levels: Sequence[str], where: str) -> Study:
    """TLS levels, each with or without resumption, as bundles crossed with all other treatments."""
    pairs = [_tls_and_resumption(level, where) for level in levels]
    plain_factor = "resumption" not in study.levels_of() and all(on == "off" for _, on in pairs)
    if plain_factor and not any("tls" in treatment for treatment in study.treatments):
        chosen = _with_baseline(study, "tls", [tls for tls, _ in pairs])
        return rebuilt(study, where, factors={**study.factors, "tls": chosen})
    baseline = dict(study.baseline)
    if "tls" in baseline:
        baseline.setdefault("resumption", "off")
        pairs.insert(0, (str(baseline["tls"]), str(baseline["resumption"])))
    bundles = [{"tls": tls, "resumption": on} for tls, on in dict.fromkeys(pairs)]
    others = [{k: v for k, v in t.items() if k not in {"tls", "resumption"}} for t in study.treatments]
    distinct = [other for place, other in enumerate(others) if other not in others[:place]] or [{}]
    return rebuilt(
        study,
        where,
        factors={name: ls for name, ls in study.factors.items() if name not in {"tls", "resumption"}},
        treatments=tuple({**other, **bundle} for other in distinct for bundle in bundles),
        baseline=baseline,
    )


def _tls_and_resumption(level: str, where: str) -> tuple[str, str]:
    known = FACTORS["tls"].levels or ()
    tls = level.removesuffix(RESUMED)
    if tls not in known:
        hint = closest(level, (*known, *(name + RESUMED for name in known)))
        raise UserMistake(
            f"{where}: {quoted(level)} is not a level of tls{hint}",
            remedy=f"allowed are {', '.join(known)}, and with resumption 1.3{RESUMED} and so on",
        )
    if tls in {"off", *LEFT_TO_THE_DRIVER} and tls != level:
        why = "plaintext has no session to resume" if tls == "off" else "what a driver resumes is left to it"
        raise UserMistake(f"{where}: {why}", remedy=f"write {tls}, or 1.3{RESUMED}")
    return tls, "off" if tls == level else "on"


def _with_baseline(study: Study, factor: str, levels: Sequence[Level]) -> tuple[Level, ...]:
    first = [study.baseline[factor]] if factor in study.baseline else []
    return tuple(dict.fromkeys([*first, *levels]))


def _narrowed(
    study: Study, factor: str, chosen: Sequence[Level], where: str, external: Collection[str]
) -> Study:
    for level in chosen:
        if all(treatment[factor] != level for treatment in study.treatments):
            raise UserMistake(
                f"{where}: study {study.name} bundles {factor} with other factors and has no "
                f"{level if level in external else quoted(level)} of it",
                remedy=f"choose among {listed(study.levels_of()[factor])}",
            )
    kept = tuple(treatment for treatment in study.treatments if treatment[factor] in chosen)
    return rebuilt(study, where, treatments=kept)
