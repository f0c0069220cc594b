"""What cases and groups are called in words, in one place for terminal, report and progress.

A case is named by the factors in which it may differ from its baseline, its group by the others. Which
these are, the study knows; without one, TLS and resumption name the case (and where there is no TLS, what
chooses the server), and everything else the group.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from tlstax.contract import OpenLoop
from tlstax.study import configuration as configured
from tlstax.study import cpu_features
from tlstax.study.client_kinds import client_words, kind_of
from tlstax.study.design import Case, Study
from tlstax.study.factors import DISTANCE_FACTORS, FACTORS, CaseLevels, factors_of
from tlstax.study.level_names import (
    DIRECT_TLS,
    ENGINE,
    NO_FAULT,
    OPTION,
    OWN,
    REQUIRED,
    UNSET,
    VARIANTS,
    Level,
    Levels,
    changed_words,
    planted_words,
    twin_words,
)
from tlstax.study.tls_levels import version_of
from tlstax.support.text import counted, enumerated

CONTROL_MARK: dict[str, Level] = {"control": "yes"}
"""Added to the levels of a control in a finding, so that it differs from its baseline."""

_TLS = ("tls", "resumption")

_SAID_TOGETHER = (*factors_of("server"), "client_tls_library")
"""What chooses the server, and the TLS library under the client: in words together (`_server_words`)."""

_OF_A_GROUP = (
    *_SAID_TOGETHER,
    "group",
    "workload",
    "connections",
    "client",
    "queries",
    "rounds",
    "slice_ms",
    *DISTANCE_FACTORS,
)
"""What says of which group a case is, where no study says so."""

_ORDER = (
    "cipher",
    "server",
    "certificate",
    "chain",
    "trust",
    "client_certificate",
    "group",
    "path",
    "address",
    "rtt_ms",
    "workload",
    "connections",
    "client",
    "queries",
    "rounds",
    "slice_ms",
    "compression",
    "tls_switch",
    "protocol",
    "tls_context",
    "durability",
    "observers",
    "options",
    "auth",
    "batch",
    "burn",
)
"""In which order people say what a case has, behind its TLS version. What is not here comes last, by name."""

LOGIN = ("auth", "batch")
"""How a driver's account is proved, and how its operations are put together."""


def label(case: Case, study: Study | None = None) -> str:
    """What a case is called: "plaintext", "plaintext again (control)", "TLS 1.3 resumed"."""
    return label_levels(finding_levels(case), study)


def label_levels(levels: Levels, study: Study | None = None) -> str:
    """The same for the levels of a finding, where the control is marked by a level of its own.

    Factors without words of their own appear by name: "TLS 1.3, auth=native".
    """
    again = " again (control)" if levels.get("control") == "yes" else ""
    return (", ".join(_words(levels, _naming_the_case(levels, study), study)) or "the baseline") + again


def group_label(levels: Levels, study: Study | None = None) -> str:
    """What the cases of a group share: "mysql-9.7, point selects on kept connections, 8 connections".

    `levels` are a case's, or those alone that its group shares. What chooses a server, and has one level in
    the whole study, is left out.
    """
    return _group_words(levels, frozenset(_TLS) if study is None else _naming_the_case(levels, study), study)


def full_label(case: Case, study: Study | None = None) -> str:
    """A case and its group: "TLS 1.3, point selects on kept connections, 8 connections"."""
    group = _group_words(case.levels, _naming_the_case(case.levels, study), study)
    return f"{label(case, study)}, {group}" if group else label(case, study)


def driver_words(levels: Levels, study: Study | None = None) -> str:
    """The client with the options of its own that it is given: "Connector/J 8.0.16 with useSSL=false".

    Options that all cases of the study have alike are left out.
    """
    if study is not None:
        levels = {name: level for name, level in levels.items() if name not in shared_options(study)}
    options = option_words(levels)
    name = client_words(levels["client"]) if "client" in levels else ""
    return f"{name} with {options}".strip() if options and name else name or options


def driver_label(case: Case, study: Study) -> str:
    """The label of a driver's case, with its workload where that is not the first of the study's."""
    return f"{label(case, study)}{other_workload(case.levels, study)}"


def other_workload(levels: Levels, study: Study) -> str:
    """The workload, to be put behind a driver's name; empty for the first, or only, one of a study."""
    known = study.levels_of().get("workload", ())
    workload = levels.get("workload")
    return "" if workload is None or workload in known[:1] else f", {workload}"


def shared_options(study: Study) -> frozenset[str]:
    """The factors that are options of drivers and have one level in the whole study."""
    levels_of = study.levels_of()
    return frozenset(n for n, known in levels_of.items() if n.startswith(OPTION) and len(known) == 1)


def option_words(levels: Levels) -> str:
    """The options of a driver as people write them: "useLocalSessionState=true and useSSL=false"."""
    options = (item for item in sorted(levels.items()) if item[0].startswith(OPTION) and item[1] != UNSET)
    return " and ".join(f"{name.removeprefix(OPTION)}={level}" for name, level in options)


def way_words(levels: Levels) -> list[str]:
    """Cipher, groups, path and distance, as far as `levels` has them: ["P-256 first", "45 ms away"]."""
    return [
        *(_words_of(name, levels[name]) for name in ("cipher", "group", "path", "address") if name in levels),
        *_distance_words(levels),
    ]


def _words_of(name: str, level: Level) -> str:
    """What a level is called; of a factor without words of its own, or of none, the name and the level."""
    words = FACTORS[name].words if name in FACTORS else None
    return f"{name}={level}" if words is None else words(level)


def schedule_label(schedule: OpenLoop) -> str:
    """The load of an open loop: "5,000 operations a second"."""
    return f"{counted(schedule.rate_per_s, 'operation', ',.10g')} a second"


def finding_levels(case: Case) -> dict[str, Level]:
    """The levels by which a finding names its case: the case's own, and the mark of the control."""
    return {**case.levels, **CONTROL_MARK} if case.role == "control" else dict(case.levels)


def without_mark(levels: Levels) -> dict[str, Level]:
    """The case's own levels, of those by which a finding names it."""
    return {name: level for name, level in levels.items() if name not in CONTROL_MARK}


def _group_words(levels: Levels, of_the_case: frozenset[str], study: Study | None) -> str:
    single = _single(study) if study is not None else frozenset()
    return ", ".join(_words(levels, [name for name in levels if name not in of_the_case | single], study))


def _naming_the_case(levels: Levels, study: Study | None) -> frozenset[str]:
    """The factors that a case is called by. TLS and resumption are named together, or not at all."""
    if study is None:
        own = _TLS if "tls" in levels else _SAID_TOGETHER
        return frozenset({*own, *(name for name in levels if name not in (*_OF_A_GROUP, *_TLS))})
    named = set(study.baseline) - _following(study)
    return frozenset(named | set(_TLS) if named & set(_TLS) else named)


def telling(study: Study) -> frozenset[str]:
    """The factors that are always named: they have a level that does not go without saying."""
    levels = study.levels_of()
    plain = {factor.name: (factor.default,) for factor in FACTORS.values() if factor.named == "unless plain"}
    return frozenset(name for name, alone in plain.items() if levels.get(name) not in {None, alone})


def _single(study: Study) -> frozenset[str]:
    """The factors that go without saying; a fault or a distance that is there everywhere does not."""
    levels = study.levels_of()
    seldom = (factor.name for factor in FACTORS.values() if factor.named != "always")
    alone = frozenset(name for name in seldom if len(levels.get(name, ())) == 1)
    return (alone | _following(study)) - telling(study)


def _following(study: Study) -> frozenset[str]:
    """The TLS library, where each server has one of its own in this study: the server's name says it."""
    libraries: dict[Level, set[Level]] = {}
    for treatment in study.treatments:
        if "server" in treatment and "tls_library" in treatment:
            libraries.setdefault(treatment["server"], set()).add(treatment["tls_library"])
    follows = libraries and all(len(known) == 1 for known in libraries.values())
    return frozenset({"tls_library"}) if follows else frozenset()


def _words(levels: Levels, names: Collection[str], study: Study | None = None) -> Iterator[str]:
    """Each thing that the factors among `names` say, in the order in which people say it."""
    driver, names = _driver_first(levels, _to_name(levels, names, study))
    yield from driver
    said = {name: level for name, level in levels.items() if name in names}
    if with_tls := "tls" in said:
        yield _tls_label(levels)
        said = {name: level for name, level in said.items() if _is_said(name, level, levels)}
    for name in _ORDER:
        if name == "server":
            of_server = {known: said[known] for known in _SAID_TOGETHER if known in said}
            yield from _server_words(of_server, with_tls=with_tls, sound=_sound_words(study))
        elif name == "rtt_ms":
            yield from _distance_words(said)
        elif name == "options":
            yield from filter(None, [option_words(said)])
        elif name in said:
            yield from filter(None, [_words_of(name, said[name])])
    for name in sorted(said.keys() - {*_ORDER, *_SAID_TOGETHER, *_TLS, *DISTANCE_FACTORS, *CONTROL_MARK}):
        if not name.startswith(OPTION):
            yield _words_of(name, said[name])


def _is_said(name: str, level: Level, levels: Levels) -> bool:
    """Whether a level has to be named beside the TLS version: not one that goes without saying there."""
    factor = FACTORS.get(name)
    if factor is None:
        return True
    is_plain = factor.encrypted and levels["tls"] == "off"
    return not is_plain and (factor.unsaid is None or level != factor.unsaid)


def _driver_first(levels: Levels, names: Collection[str]) -> tuple[list[str], Collection[str]]:
    """A driver that is distinguished by its options, in words, and the factors that are left to name."""
    options = {name for name in names if name.startswith(OPTION) and name in levels}
    if not options or not {"client"} <= set(names) & set(levels):
        return [], names
    named = {"client", *options}
    return [driver_words({n: levels[n] for n in named})], [name for name in names if name not in named]


def login_words(levels: Levels) -> Iterator[str]:
    """How an account is proved and how operations are put together; what is usual goes without saying."""
    yield from filter(None, (_words_of(name, levels[name]) for name in LOGIN if name in levels))


def _to_name(levels: Levels, names: Collection[str], study: Study | None) -> Collection[str]:
    """The factors to name: where drivers are compared, their server only where it is another one."""
    if study is None or "client" not in names or not kind_of(str(levels.get("client", ENGINE))).is_driver:
        return names
    usual = {name for name in ("server", "auth") if levels.get(name) == study.baseline.get(name)}
    return [name for name in names if name not in usual]


def _sound_words(study: Study | None) -> str:
    """What a server without fault or variant is called, where the study has others with one."""
    known = set(study.levels_of().get("fault", ())) - {NO_FAULT} if study is not None else set()
    return "the server as it comes" if known and known <= set(VARIANTS) else "nothing planted"


def _distance_words(levels: Levels) -> Iterator[str]:
    """How far client and server are apart, as far as `levels` has it."""
    rtt_ms, jitter_ms = float(levels.get("rtt_ms", 0)), float(levels.get("jitter_ms", 0))
    rate_mbit = int(levels.get("rate_mbit", 0))
    if "rtt_ms" in levels:
        yield f"{rtt_ms:.10g} ms away" if rtt_ms else "on the same machine"
    if jitter_ms:
        yield f"±{jitter_ms:.10g} ms of jitter"
    elif "jitter_ms" in levels and rtt_ms:
        yield "no jitter"
    if rate_mbit:
        yield f"at {rate_mbit:,} Mbit/s"
    elif "rate_mbit" in levels and rtt_ms:
        yield "at any rate"


def _server_words(levels: Levels, *, with_tls: bool, sound: str) -> Iterator[str]:
    """The server and what is put under it and under the client, as far as `levels` has it.

    That a process is the first goes without saying where TLS has been named. `sound` is what a server with
    nothing of ours in it is called beside one that has something.
    """
    if "server" in levels:
        yield CaseLevels.of(
            {name: level for name, level in levels.items() if name not in {"certificate", "chain"}}
        ).server_choice.words()
    elif "tls_library" in levels:
        library = levels["tls_library"]
        named = "the server's own TLS library" if library == OWN else str(library)
        planted = planted_words(levels.get("fault", NO_FAULT))
        yield f"{named}{planted}{twin_words(levels.get('instance', 1))}"
    elif "fault" in levels:
        planted = sound if levels["fault"] == NO_FAULT else changed_words(levels["fault"])
        yield f"{planted}{twin_words(levels.get('instance', 1))}"
    elif "instance" in levels and (levels["instance"] != 1 or not with_tls):
        yield {1: "the first process"}.get(int(levels["instance"]), f"process {levels['instance']}")
    if "configuration" in levels and "server" not in levels:
        yield configured.listed(str(levels["configuration"])) or "options as they come"
    if "cpu_features" in levels and "server" not in levels:
        yield cpu_features.words(str(levels["cpu_features"]))
    if "server_cpus" in levels and "server" not in levels:
        yield f"the server on {counted(int(levels['server_cpus']), 'processor')}"
    if "client_tls_library" in levels:
        library = levels["client_tls_library"]
        yield "the client's own TLS library" if library == OWN else f"client over {library}"


def _tls_label(levels: Levels) -> str:
    tls = levels["tls"]
    if tls == "off":
        return "plaintext"
    if tls == UNSET:
        return "TLS as the driver has it"
    if tls == REQUIRED:
        return "TLS required, the rest as the driver has it"
    if tls == DIRECT_TLS:
        return f"TLS {version_of(DIRECT_TLS)} direct"
    version = "TLS as the client chooses" if tls == "default" else f"TLS {tls}"
    return f"{version} resumed" if levels.get("resumption") == "on" else version


MOST_NAMED, MOST_GROUPS = 4, 2
"""More cases, or groups of them, than this are counted."""

WORK = "work"


def asking_what_is_there(study: Study, before: Study) -> Study:
    """The study with a question made of its cases, where it has other ones than `before` it was changed.

    Its title stays as long as the factors by which its cases are compared differ as they did, and there is
    TLS where there was.
    """
    cases, cases_before = list(study.included()), list(before.included())
    if cases == cases_before and study.schedule == before.schedule:
        return study
    compared = _compared_factors(cases_before, before) - _compared_factors(cases, study)
    had_tls, has_tls = (any(one.is_encrypted for one in own) for own in (cases_before, cases))
    changes = {"question": _question_of(study, cases)}
    if compared or (had_tls and not has_tls):
        changes["title"] = _title_of(study, cases)
    return study.model_copy(update=changes)


def _compared_factors(cases: Sequence[CaseLevels], study: Study) -> set[str]:
    """The factors of the baseline that differ among cases; resumption goes with TLS."""
    of_tls = {"resumption": "tls"}
    return {of_tls.get(name, name) for name in study.baseline if len({case.get(name) for case in cases}) > 1}


def _title_of(study: Study, cases: Sequence[CaseLevels]) -> str:
    subjects, baseline = _compared_words(study, cases)
    title = f"{subjects}, compared with {baseline}" if subjects else f"{baseline}, by itself"
    return title[:1].upper() + title[1:]


def _question_of(study: Study, cases: Sequence[CaseLevels]) -> str:
    """Such as "How do TLS 1.3 and TLS 1.2 compare with plaintext (point selects on kept connections)?"."""
    subjects, baseline = _compared_words(study, cases)
    groups = list(dict.fromkeys(group_label(study.group_of(case), study) for case in cases))
    few = "; ".join(filter(None, groups)) if len(groups) <= MOST_GROUPS else counted(len(groups), "group")
    rate = f"at {schedule_label(study.schedule)}" if isinstance(study.schedule, OpenLoop) else ""
    where = ", ".join(filter(None, (few, rate)))
    several = " and " in subjects or re.match("[0-9]", subjects)
    does = "do" if several and not subjects.startswith(WORK) else "does"
    asked = f"How {does} {subjects} compare with {baseline}" if subjects else f"What does {baseline} come to"
    return f"{asked} ({where})?" if where else f"{asked}?"


def _compared_words(study: Study, cases: Sequence[CaseLevels]) -> tuple[str, str]:
    """What is compared, and with what; of clients it is the work by them."""
    subjects, baseline = _subjects(study, cases), label_levels(study.baseline, study)
    if not baseline.startswith("by "):
        return subjects, baseline
    return f"{WORK} {subjects}" if subjects.startswith("by ") else subjects, f"{WORK} {baseline}"


def _subjects(study: Study, cases: Sequence[CaseLevels]) -> str:
    """What is compared with the baseline, in words; empty where there is nothing else."""
    others = (case for case in cases if not study.is_baseline(case))
    compared = ({name: case[name] for name in study.baseline} for case in others)
    labels = list(dict.fromkeys(label_levels(levels, study) for levels in compared))
    return enumerated(labels) if len(labels) <= MOST_NAMED else counted(len(labels), "case")
