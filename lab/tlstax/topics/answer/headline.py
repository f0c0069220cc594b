"""The answer in words: a sentence for every treatment of a run, from its findings."""

from __future__ import annotations

from tlstax.contract import OpenLoop
from tlstax.results.document import Finding, RunDocument
from tlstax.results.interval import DIFFERENCES
from tlstax.results.rows import Row
from tlstax.stats.contrasts import why_inconclusive
from tlstax.stats.outcomes import OUTCOMES, asks_for_counts, is_large
from tlstax.stats.wording import (
    MANY_TIMES,
    alike,
    change_words,
    mode_label,
    per_cent,
    percent,
    set_ends,
    signed_alike,
    signed_percent,
    subject_label,
    tls_label,
    verdict_words,
    without_scatter,
)
from tlstax.study import workloads
from tlstax.study.factors import DISTANCE_FACTORS
from tlstax.study.labels import label_levels, schedule_label, way_words
from tlstax.study.level_names import PING, POINT_SELECT, RECONNECTING
from tlstax.study.needs import clients, server_choices
from tlstax.support.text import counted, duration
from tlstax.topics.answer.document import never_valid_words
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

WAYS = {
    (True, True): ("faster", "slower"),
    (True, False): ("as high", "lower"),
    (False, True): ("more", "fewer"),
    (False, False): ("higher", "lower"),
}
"""What more and less of an outcome is called: by whether it is N times, and whether of a rate."""


def headline(document: RunDocument) -> list[str]:
    """What the run answers, a sentence for each treatment, in the order of the findings.

    For example "TLS 1.3 on kept connections: 7.1 % fewer point selects a second (5.9 to 8.2 % at 95 %)".
    After the sentences of a group follows what resumption gives back there, where that is told apart.
    A study of published statements answers with the verdicts on them, and on the fix of a planted fault; one
    of what a connection is worth through a pooler with what it costs that; one too large for a sentence a
    case with the ratios pooled over connections; one of load clients with whether
    they agree, as do others that have several; one of key exchange groups with what a second ClientHello
    costs. Where one function was found to be at fault for a case's extra cost, it is named. First of all
    come cases that no valid trial tells of; those of drivers come last, as what one cannot do is an answer
    of its own.
    """
    lost = list(never_valid_words(document.never_valid))
    if verdicts := said_of(document, "statements"):
        drivers = said_of(document, "drivers")
        return [
            *(() if drivers else lost),
            *verdicts,
            *reached(document),
            *drivers,
            *said_of(document, "poolers"),
            *said_of(document, "pool"),
            *causes(document),
            *said_of(document, "published"),
            *(lost if drivers else ()),
        ]
    if document.design.pool is not None and (poolers := said_of(document, "poolers")):
        return [*lost, *poolers, *said_of(document, "pool"), *causes(document)]
    if topic := _of_its_kind(document):
        alone = topic in {"memory", "round_trips", "self_bench", "validation"}
        answer = [*said_of(document, topic), *(() if alone else causes(document))]
        return [*lost, *(answer or _nothing(document))]
    if is_large(document.design):
        return [*lost, *reached(document), *(_pooled(document) or _nothing(document))]
    decided = [f for f in document.findings if f.outcome == document.design.deciding_outcome]
    treatments = [finding for finding in decided if finding.role == "treatment"]
    sentences = []
    for finding in treatments:
        subject = _subject(finding, document)
        sentences.append(f"{subject}: {_difference(finding, document.design.alike_within)}")
        if back := _given_back(finding, treatments):
            sentences.append(f"{_server(finding, document)}{back}{_apart_words(finding, document)}")
    return [
        *lost,
        *(sentences or _nothing(document)),
        *made_anew(document),
        *said_of(document, "drivers"),
        *reached(document),
        *said_of(document, "poolers"),
        *said_of(document, "agreement"),
        *causes(document),
    ]


def _of_its_kind(document: RunDocument) -> str:
    """The topic that answers a run which asks of something else than treatments one by one; else empty."""
    for topic in ("memory", "self_bench", "validation"):
        if topic in document.topics:
            return topic
    if document.design.sides is not None:
        return "two_sides"
    if "agreement" in document.topics and "client" in document.design.baseline:
        # Clients are what is compared: operations a second tell of them, not of what they measure.
        return "agreement"
    if asks_for_counts(document.design):
        return "round_trips"
    return "hello_retry" if is_answer(document) else ""


def _nothing(document: RunDocument) -> list[str]:
    """Why a run has no sentence: no comparison was valid, or its study has none."""
    study = document.design
    compares = any(not study.is_baseline(levels) for levels in study.included())
    return [NOTHING_TO_TELL if compares else NOTHING_COMPARED]


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
    distance = document.rows_of("distance")
    return [*claim_sentences(distance), *kept_sentences(distance), *said_of(document, "tunnels")]


def _pooled(document: RunDocument) -> list[str]:
    """What every case changes beside its own baseline, pooled over connections."""
    sentences = []
    for row in document.rows_of("contrasts", document.design.deciding_outcome, role="pooled"):
        if not row.word("factor"):
            steps = row.numbers("pooled_connections")
            subject = f"{subject_label(row.case, document.design)}, {mode_label(row.case)}"
            over = counted(len(steps), "number")
            sentences.append(f"{subject}: {_changed(row, document)}, pooled over {over} of connections")
    return sentences


def made_anew(document: RunDocument) -> list[str]:
    """What connections made anew come to beside kept ones, in each TLS mode, where a study asks for that."""
    contrasts = document.rows_of("contrasts", document.design.deciding_outcome, role="contrast")
    return [
        f"reconnecting under {tls_label(row.case)} instead of keeping connections: {_changed(row, document)}"
        for row in contrasts
        if row.word("factor") == "workload"
    ]


def _changed(row: Row, document: RunDocument) -> str:
    """An outcome, its change, and what is judged of it unless a difference is seen."""
    is_seen = row.judgement in DIFFERENCES
    judged = "" if is_seen else f", {verdict_words(row.judgement, document.design.alike_within)}"
    return f"{OUTCOMES[row.outcome].words} {change_words(row.ratio)}{judged}"


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
    elif subject == name and "workload" in document.design.varied:
        subject = f"{name}, {workloads.in_words(str(workload))}"
    if "connections" in document.design.varied:
        subject += f", {counted(int(finding.case['connections']), 'connection')}"
    subject += _apart_words(finding, document)
    if isinstance(document.design.schedule, OpenLoop):
        subject += f" at {schedule_label(document.design.schedule)}"
    return f"{_server(finding, document)}{subject}"


def _apart_words(finding: Finding, document: RunDocument) -> str:
    """How far client and server are apart, where that differs: ", 45 ms away"."""
    varied = {n: finding.case[n] for n in DISTANCE_FACTORS if n in document.design.varied}
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
    if finding.judgement == "inconclusive" or ratio.between is None:
        wait = f"; about {duration(finding.more_s)} more would tell" if finding.more_s is not None else ""
        return f"inconclusive in {_what(finding)}: {_why(finding, within)}{wait}"
    is_more, of_rate = ratio.point > 1, finding.outcome == "ops_per_s"
    is_many = max(ratio.point, 1 / ratio.point) >= MANY_TIMES
    unit, sign = "×" if is_many else " %", 1 if is_more else -1
    ends = (ratio.point, *ratio.between[::sign])
    size, start, end = alike(*(value**sign if is_many else sign * per_cent(value) for value in ends))
    words = WAYS[is_many, of_rate][0 if is_more else 1]
    sure = set_ends(start, end, unit=f"{unit} at {percent(ratio.confidence)}")
    if not of_rate:
        return f"{_what(finding)} {size}{unit} {words} {sure}"
    return f"{size}{unit} {words}{'' if is_many else f' {_what(finding)}'} {sure}"


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


def _evidence(finding: Finding) -> str:
    """The interval, and the noise floor where it is known: "−0.4 to +1.2 % at 95 %, noise floor 1.1 %"."""
    ratio = finding.ratio
    if ratio.between is None:
        return f"{signed_percent(ratio.point - 1)} in {without_scatter(ratio)} alone"
    start, end = signed_alike(*map(per_cent, ratio.between))
    floor = f", noise floor {percent(finding.noise_floor)}" if finding.noise_floor is not None else ""
    return f"{start} to {end} % at {percent(ratio.confidence)}{floor}"


def _what(finding: Finding) -> str:
    if finding.outcome == "ops_per_s":
        return _WORK.get(str(finding.case.get("workload")), "operations a second")
    return OUTCOMES[finding.outcome].words


def _given_back(resumed: Finding, treatments: list[Finding]) -> str:
    """What resumption gives back of the time that TLS adds to a reconnect; empty where it cannot be told.

    With as many connections at work, the time of an operation goes as the inverse of the throughput.
    """
    case = resumed.case
    if not case.resumes or case.workload not in RECONNECTING:
        return ""
    sibling = {**resumed.case, "resumption": "off"}
    full = next((finding for finding in treatments if finding.case == sibling), None)
    if full is None or resumed.outcome != "ops_per_s" or full.judgement != "lower":
        return ""
    highest, lowest = full.ratio.high, resumed.ratio.low
    is_apart = highest is not None and lowest is not None and highest < lowest
    if full.baseline.get("tls") != "off" or not is_apart or not resumed.ratio.is_telling:
        return ""
    share = 1 - (1 / resumed.ratio.point - 1) / (1 / full.ratio.point - 1)
    back = "all" if resumed.judgement == "alike" or share >= 1 else percent(share)
    return f"resumption gives back {back} of the time that {label_levels(sibling)} adds to a reconnect"
