"""The answer in words: a sentence for every treatment of a run, from its findings."""

from __future__ import annotations

from tlstax.contract import OpenLoop
from tlstax.findings.core.judgements import why_inconclusive
from tlstax.findings.core.outcomes import OUTCOMES, asks_for_counts, is_large
from tlstax.findings.core.wording import (
    MANY_TIMES,
    alike,
    change_words,
    mode_label,
    percent,
    signed_percent,
    subject_label,
    tls_label,
    verdict_words,
    with_sign,
    without_scatter,
)
from tlstax.results.document import (
    Finding,
    RunDocument,
)
from tlstax.results.interval import DIFFERENCES, Interval
from tlstax.results.rows import Row
from tlstax.study import workloads
from tlstax.study.factors import DISTANCE_FACTORS, CaseLevels
from tlstax.study.labels import label_levels, schedule_label, way_words
from tlstax.study.level_names import PING, POINT_SELECT, RECONNECTING
from tlstax.study.needs import clients, server_choices
from tlstax.support.text import counted, duration
from tlstax.topics.answer.document import never_valid_words
from tlstax.topics.answer.statement_words import verdict_line
from tlstax.topics.distance.curves import claim_sentences
from tlstax.topics.distance.curves import pool_sentences as kept_sentences
from tlstax.topics.explain.explanation import by_rank, explanations
from tlstax.topics.hello_retry import is_answer

NOTHING_TO_TELL = "there is no valid comparison to tell anything from"
NOTHING_COMPARED = (
    "nothing is compared: every case is a baseline of its own; the tables have what each came to"
)
_WORK = {
    "point-select": "point selects a second",
    "reconnect": "connections a second",
    "storm": "connections a second",
    "ping": "pings a second",
    "reconnect-ping": "connections a second",
}


def headline(document: RunDocument) -> list[str]:
    """What the run answers, a sentence for each treatment, in the order of the findings.

    For example "TLS 1.3 on kept connections: 7.1 % fewer point selects a second (5.9 to 8.2 % at 95 %)".
    After the sentences of a group follows what resumption gives back there, where that is told apart.
    A study of published statements answers with the verdicts on them, and on the fix of a planted fault; one
    too large for a sentence a case with the ratios pooled over connections; one of load clients with whether
    they agree, as do others that have several; one of key exchange groups with what a second ClientHello
    costs. Where one function was found to be at fault for a case's extra cost, it is named. First of all
    come cases that no valid trial tells of; those of drivers come last, as what one cannot do is an answer
    of its own.
    """
    lost = list(never_valid_words(document.never_valid))
    if document.statements:
        said = (f"{verdict_line(result)}: {result.sentence}" for result in document.statements)
        of_drivers = said_of(document, "drivers")
        return [
            *(() if of_drivers else lost),
            *said,
            *reached(document),
            *of_drivers,
            *(document.topics["pool"].sentences if "pool" in document.topics else ()),
            *causes(document),
            *said_of(document, "published"),
            *(lost if of_drivers else ()),
        ]
    of_its_kind = _of_its_kind(document)
    if of_its_kind is not None:
        return [*lost, *(of_its_kind or [_nothing(document)])]
    if is_large(document.design):
        return [*lost, *reached(document), *(_pooled(document) or [_nothing(document)])]
    decided = [f for f in document.findings if f.outcome == document.design.deciding_outcome]
    treatments = [finding for finding in decided if finding.role == "treatment"]
    sentences = []
    for finding in treatments:
        sentences.append(
            f"{_subject(finding, document)}: {_difference(finding, document.design.alike_within)}"
        )
        backs = _given_back(finding, treatments)
        sentences += [
            f"{_server(finding, document)}{back}{_apart_words(finding, document)}" for back in backs
        ]
    return [
        *lost,
        *(sentences or [_nothing(document)]),
        *made_anew(document),
        *said_of(document, "drivers"),
        *reached(document),
        *said_of(document, "agreement"),
        *causes(document),
    ]


def _nothing(document: RunDocument) -> str:
    """Why a run has no sentence: no comparison was valid, or its study has none."""
    study = document.design
    compares = any(not study.is_baseline(levels) for levels in study.included())
    return NOTHING_TO_TELL if compares else NOTHING_COMPARED


def _of_its_kind(document: RunDocument) -> list[str] | None:
    """What a run answers that asks of something else than treatments one by one; None for any other."""
    if document.design.sides is not None:
        return [*said_of(document, "two_sides"), *causes(document)]
    if "agreement" in document.topics and "client" in document.design.baseline:
        # Clients are what is compared: operations a second tell of them, not of what they measure.
        return [*said_of(document, "agreement"), *causes(document)]
    if asks_for_counts(document.design):
        return [*said_of(document, "round_trips")]
    if is_answer(document):
        return [*said_of(document, "hello_retry"), *causes(document)]
    return None


def said_of(document: RunDocument, topic: str) -> tuple[str, ...]:
    """The sentences of a topic; none where the run has nothing to tell of it."""
    return document.topics[topic].sentences if topic in document.topics else ()


def causes(document: RunDocument) -> list[str]:
    """Of every case in which one function was found to be at fault: which, and how much of the extra."""
    ranked = by_rank(explanations(document.rows_of("explain"), document.design, document.run))
    named = (found for found in ranked if found.culprit is not None)
    return [f"{found.labels[0]} against {found.labels[1]}: {found.sentences[0]}" for found in named]


def reached(document: RunDocument) -> list[str]:
    """What is claimed of distances, what a kept connection saves there, and when a tunnel is worth it."""
    distance, tunnels = document.topics.get("distance"), document.topics.get("tunnels")
    told = [*claim_sentences(distance.rows), *kept_sentences(distance.rows)] if distance is not None else []
    return [*told, *(tunnels.sentences if tunnels is not None else ())]


def _pooled(document: RunDocument) -> list[str]:
    outcome = document.design.deciding_outcome
    return [
        f"{subject_label(found.case, document.design)}, {mode_label(found.case)}: {_what_changes(outcome)} "
        f"{change_words(found.ratio)}{_unless_seen(found.judgement, document.design.alike_within)}, "
        f"pooled over {counted(_steps(found), 'number')} of connections"
        for found in document.rows_of("contrasts", outcome, role="pooled")
        if not found.word("factor")
    ]


def _steps(row: Row) -> int:
    """Over how many numbers of connections a row is pooled."""
    steps = row.more["pooled_connections"]
    return len(steps) if isinstance(steps, tuple) else 0


def made_anew(document: RunDocument) -> list[str]:
    """What connections made anew come to beside kept ones, in each TLS mode, where a study asks for that."""
    within, outcome = document.design.alike_within, document.design.deciding_outcome
    return [
        f"reconnecting under {tls_label(found.case)} instead of keeping connections: "
        f"{_what_changes(outcome)} {change_words(found.ratio)}{_unless_seen(found.judgement, within)}"
        for found in document.rows_of("contrasts", outcome, role="contrast")
        if found.word("factor") == "workload"
    ]


def _unless_seen(judgement: str, within: float) -> str:
    return "" if judgement in DIFFERENCES else f", {verdict_words(judgement, within)}"


def _what_changes(outcome: str) -> str:
    return OUTCOMES[outcome].words if outcome in OUTCOMES else outcome


def _subject(finding: Finding, document: RunDocument) -> str:
    """Who is compared: "TLS 1.3 on kept connections", "reconnecting under TLS 1.3, 64 connections".

    Of several servers, the server comes first: "mysql-9.7: TLS 1.3 on kept connections".
    """
    name, workload = label_levels(finding.case), finding.case.get("workload")
    subject = f"{name} on kept connections" if workload in {POINT_SELECT, PING} else name
    if workload in RECONNECTING:
        subject = f"reconnecting {'in' if name == 'plaintext' else 'under'} {name}"
    elif workload == "storm":
        subject = f"{name} in connection storms"
    elif subject == name and len(document.design.levels_of().get("workload", ())) > 1:
        subject = f"{name}, {workloads.in_words(str(workload))}"
    if len(document.design.levels_of().get("connections", ())) > 1:
        subject += f", {counted(int(finding.case['connections']), 'connection')}"
    subject += _apart_words(finding, document)
    if isinstance(document.design.schedule, OpenLoop):
        subject += f" at {schedule_label(document.design.schedule)}"
    return f"{_server(finding, document)}{subject}"


def _apart_words(finding: Finding, document: RunDocument) -> str:
    """How far client and server are apart, where that differs: ", 45 ms away"."""
    levels_of = document.design.levels_of()
    varied = {n: finding.case[n] for n in DISTANCE_FACTORS if len(levels_of.get(n, ())) > 1}
    return "".join(f", {words}" for words in way_words(varied))


def _server(finding: Finding, document: RunDocument) -> str:
    """The server or the load client and a colon, where there are several."""
    if len(server_choices(document.design)) == len(clients(document.design)) == 1:
        return ""
    return f"{subject_label(finding.case, document.design)}: "


def _difference(finding: Finding, within: float) -> str:
    """What differs, by how much, how surely, after the colon; `within` is the factor of what is alike."""
    ratio = finding.ratio
    if finding.judgement == "alike":
        return f"{_what(finding)} {verdict_words('alike', within)} ({_evidence(finding)})"
    if finding.judgement == "inconclusive" or ratio.low is None or ratio.high is None:
        return f"inconclusive in {_what(finding)}: {_why(finding, within)}{_wait(finding.more_s)}"
    more = ratio.point > 1
    throughput = finding.outcome == "ops_per_s"
    if max(ratio.point, 1 / ratio.point) >= MANY_TIMES:
        size, sure = _times(ratio.point, ratio.low, ratio.high)
        words = ("faster" if more else "slower") if throughput else ("as high" if more else "lower")
    else:
        size, sure = _percents(ratio.point, ratio.low, ratio.high)
        words = ("more" if more else "fewer") if throughput else ("higher" if more else "lower")
        words = f"{words} {_what(finding)}" if throughput else words
    said = f"{size} {words} ({sure} at {percent(ratio.confidence)})"
    return said if throughput else f"{_what(finding)} {said}"


def _times(point: float, low: float, high: float) -> tuple[str, str]:
    size, start, end = alike(*((1 / point, 1 / high, 1 / low) if point < 1 else (point, low, high)))
    return f"{size}×", f"{start} to {end}×"


def _percents(point: float, low: float, high: float) -> tuple[str, str]:
    sign, first, last = (-100, high, low) if point < 1 else (100, low, high)
    size, start, end = alike(*(sign * (ratio - 1) for ratio in (point, first, last)))
    return f"{size} %", f"{start} to {end} %"


def _why(finding: Finding, within: float) -> str:
    """What stands in the way of a verdict, and what the ratio could still be."""
    ratio, seen = finding.ratio, signed_percent(finding.ratio.point - 1)
    reason = why_inconclusive(ratio, finding.noise_floor, within)
    if reason == "one block":
        return f"{seen} in {without_scatter(ratio)} alone"
    if reason == "too wide":
        return (
            f"{counted(ratio.blocks, 'block')} are too few ({seen}, and the interval spans a factor of ten)"
        )
    if reason == "floor":
        return f"equal things differ by as much here ({_evidence(finding)})"
    return _evidence(finding)


def _wait(more_s: float | None) -> str:
    """How much longer would tell."""
    return f"; about {duration(more_s)} more would tell" if more_s is not None else ""


def _evidence(finding: Finding) -> str:
    """The interval, and the noise floor where it is known: "−0.4 to +1.2 % at 95 %, noise floor 1.1 %"."""
    ratio = finding.ratio
    if ratio.low is None or ratio.high is None:
        return f"{signed_percent(ratio.point - 1)} in {without_scatter(ratio)} alone"
    start, end = (with_sign(text) for text in alike(100 * (ratio.low - 1), 100 * (ratio.high - 1)))
    floor = f", noise floor {percent(finding.noise_floor)}" if finding.noise_floor is not None else ""
    return f"{start} to {end} % at {percent(ratio.confidence)}{floor}"


def _what(finding: Finding) -> str:
    if finding.outcome == "ops_per_s":
        return _WORK.get(str(finding.case.get("workload")), "operations a second")
    return OUTCOMES[finding.outcome].words if finding.outcome in OUTCOMES else finding.outcome


def _given_back(resumed: Finding, treatments: list[Finding]) -> list[str]:
    """What resumption gives back of the time that TLS adds to a reconnect; nothing where it cannot be told.

    With as many connections at work, the time of an operation goes as the inverse of the throughput.
    """
    levels = resumed.case
    case = CaseLevels.of(levels)
    if not case.resumes or case.workload not in RECONNECTING:
        return []
    sibling = {**levels, "resumption": "off"}
    full = next((finding for finding in treatments if finding.case == sibling), None)
    if full is None or resumed.outcome != "ops_per_s" or full.judgement != "lower":
        return []
    if full.baseline.get("tls") != "off" or not _apart(full.ratio, resumed.ratio):
        return []
    if not resumed.ratio.is_telling:
        return []
    share = 1 - (1 / resumed.ratio.point - 1) / (1 / full.ratio.point - 1)
    back = "all" if resumed.judgement == "alike" or share >= 1 else percent(share)
    return [f"resumption gives back {back} of the time that {label_levels(sibling)} adds to a reconnect"]


def _apart(lower: Interval, higher: Interval) -> bool:
    return lower.high is not None and higher.low is not None and lower.high < higher.low
