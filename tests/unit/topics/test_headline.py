"""The answer in words: well formed for small and large, faster and slower, sure and unsure."""

import pytest

from fake_trials import crashed, fake_run, whole_tax
from tlstax.contract import OpenLoop
from tlstax.report.overview import before_groups
from tlstax.results.document import (
    Finding,
    RunDocument,
)
from tlstax.results.interval import Interval
from tlstax.stats.contrasts import judge
from tlstax.stats.wording import alike, capitalised, known_to, percent, signed_percent
from tlstax.study import at_rate, override
from tlstax.study.changes import without_plaintext
from tlstax.support.text import counted
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline
from tlstax.topics.core.facts import facts
from tlstax.topics.core.figures import interval

FLOOR = 0.013
ALIKE = "point selects a second alike within 5 %"
TAX = document(fake_run(number_of_blocks=2, invalid=False))


def _known(finding: Finding, point: float, low: float, high: float) -> Finding:
    ratio = Interval(point=point, low=low, high=high, confidence=0.95, blocks=8)
    judgement = judge(ratio, FLOOR, TAX.design.alike_within)
    return finding.model_copy(update={"ratio": ratio, "judgement": judgement, "noise_floor": FLOOR})


def _with(found: RunDocument, *known: tuple[str, str, str, tuple[float, float, float]]) -> RunDocument:
    """Only these treatments, by workload, TLS version and resumption, each with this ratio."""
    outcome = found.design.deciding_outcome
    findings = []
    for workload, tls, resumption, ratio in known:
        wanted = {"workload": workload, "tls": tls, "resumption": resumption}
        findings += [
            _known(finding, *ratio)
            for finding in found.findings
            if finding.outcome == outcome and wanted.items() <= finding.case.items()
        ]
    return found.model_copy(update={"findings": tuple(findings)})


def _said(workload: str, point: float, low: float, high: float) -> str:
    (sentence,) = headline(_with(TAX, (workload, "1.3", "off", (point, low, high))))
    return sentence


@pytest.mark.parametrize(
    ("ratio", "says"),
    [
        ((0.929, 0.918, 0.941), "7.1 % fewer point selects a second (5.9 to 8.2 % at 95 %)"),
        ((1.071, 1.059, 1.082), "7.1 % more point selects a second (5.9 to 8.2 % at 95 %)"),
        ((0.6, 0.4, 0.8), "40 % fewer point selects a second (20 to 60 % at 95 %)"),
        ((0.2, 0.18, 0.22), "5.0\u00d7 slower (4.5 to 5.6\u00d7 at 95 %)"),
        ((12.0, 10.0, 15.0), "12\u00d7 faster (10 to 15\u00d7 at 95 %)"),
        ((1.002, 0.99, 1.014), f"{ALIKE} (\u22121.0 to +1.4 % at 95 %, noise floor 1.3 %)"),
        (
            (1.03, 0.99, 1.07),
            "inconclusive in point selects a second: \u22121 to +7 % at 95 %, noise floor 1.3 %",
        ),
        ((1.01, 1.002, 1.018), f"{ALIKE} (+0.2 to +1.8 % at 95 %, noise floor 1.3 %)"),
    ],
)
def test_kept_connections(ratio: tuple[float, float, float], says: str) -> None:
    assert _said("point-select", *ratio) == f"TLS 1.3 on kept connections: {says}"


@pytest.mark.parametrize(
    ("ratio", "says"),
    [
        ((0.204, 0.196, 0.213), "4.90\u00d7 slower (4.69 to 5.10\u00d7 at 95 %)"),
        ((0.8, 0.75, 0.85), "20 % fewer connections a second (15 to 25 % at 95 %)"),
        ((1.0, 0.98, 1.02), f"{ALIKE} (\u22122.0 to +2.0 % at 95 %, noise floor 1.3 %)"),
    ],
)
def test_reconnecting(ratio: tuple[float, float, float], says: str) -> None:
    says = says.replace("point selects", "connections")
    assert _said("reconnect", *ratio) == f"reconnecting under TLS 1.3: {says}"


def test_an_open_loop_says_at_which_rate_and_speaks_of_latency() -> None:
    study = at_rate(whole_tax(), OpenLoop(rate_per_s=5000))
    stored = fake_run(study, invalid=False)
    sentence = headline(document(stored))[0]
    assert sentence.startswith(
        "TLS 1.3 on kept connections at 5,000 operations a second: median latency of an "
    )
    load = facts(stored, document(stored))["Load"]
    assert load.startswith("open loop: 5,000 operations a second, at random times (Poisson); the latency")
    assert "Load" not in facts(fake_run(number_of_blocks=2), TAX)


def test_every_treatment_has_its_sentence_and_resumption_one_more() -> None:
    starts = [sentence.split(":")[0] for sentence in headline(document(fake_run()))]
    assert starts == [
        "TLS 1.3 on kept connections",
        "TLS 1.3 resumed on kept connections",
        "TLS 1.2 on kept connections",
        "reconnecting under TLS 1.3",
        "reconnecting under TLS 1.3 resumed",
        "resumption gives back 70 % of the time that TLS 1.3 adds to a reconnect",
        "reconnecting under TLS 1.2",
    ]


@pytest.mark.parametrize(
    ("full", "resumed", "share"),
    [
        ((0.2, 0.19, 0.21), (0.5, 0.49, 0.51), "75 %"),
        ((0.2, 0.19, 0.21), (1.0, 0.98, 1.02), "all"),
        ((0.2, 0.19, 0.21), (1.1, 1.05, 1.15), "all"),
        ((0.2, 0.15, 0.26), (0.25, 0.24, 0.31), None),
        ((0.5, 0.49, 0.51), (0.2, 0.19, 0.21), None),
        ((1.0, 0.98, 1.02), (1.0, 0.98, 1.02), None),
    ],
)
def test_what_resumption_gives_back_is_told_where_it_is_told_apart(
    full: tuple[float, float, float], resumed: tuple[float, float, float], share: str | None
) -> None:
    for workload in ("reconnect", "point-select"):
        said = headline(_with(TAX, (workload, "1.3", "off", full), (workload, "1.3", "on", resumed)))
        expected = [f"resumption gives back {share} of the time that TLS 1.3 adds to a reconnect"]
        assert said[2:] == (expected if share and workload == "reconnect" else [])


def test_many_connection_counts_are_told_apart() -> None:
    study = override(override(whole_tax(), "tls", ["1.3"]), "connections", ["1", "64"])
    said = headline(document(fake_run(study, number_of_blocks=2, invalid=False)))
    assert [line.split(":")[0] for line in said] == [
        "TLS 1.3 on kept connections, 1 connection",
        "TLS 1.3 on kept connections, 64 connections",
        "reconnecting under TLS 1.3, 1 connection",
        "reconnecting under TLS 1.3, 64 connections",
    ]


def test_distances_are_told_apart() -> None:
    study = override(override(whole_tax(), "tls", ["1.3"]), "workload", ["reconnect"])
    found = document(fake_run(override(study, "rtt_ms", ["0", "45"]), number_of_blocks=2, invalid=False))
    assert [line.split(":")[0] for line in headline(found)] == [
        "reconnecting under TLS 1.3, on the same machine",
        "reconnecting under TLS 1.3, 45 ms away",
    ]


@pytest.mark.parametrize(
    ("ratio", "says"),
    [
        ((1.12, 1.10, 1.14), "server CPU per operation 12.0 % higher (10.0 to 14.0 % at 95 %)"),
        ((0.88, 0.86, 0.90), "server CPU per operation 12.0 % lower (10.0 to 14.0 % at 95 %)"),
        ((4.0, 3.0, 5.0), "server CPU per operation 4.0\u00d7 as high (3.0 to 5.0\u00d7 at 95 %)"),
    ],
)
def test_other_outcomes_are_worded_by_what_they_are(ratio: tuple[float, float, float], says: str) -> None:
    design = TAX.design.model_copy(update={"deciding_outcome": "server_cpu_us_per_op"})
    found = TAX.model_copy(update={"design": design})
    assert headline(_with(found, ("reconnect", "1.2", "off", ratio))) == [
        f"reconnecting under TLS 1.2: {says}"
    ]


def test_one_block_or_nothing_at_all_is_admitted() -> None:
    one = fake_run(override(whole_tax(), "tls", ["1.3"]), number_of_blocks=1, invalid=False)
    for line in headline(document(one)):
        assert "inconclusive in " in line
        assert line.endswith(" in one block alone")
    nothing = one.model_copy(update={"trials": tuple(crashed(record.trial) for record in one.trials)})
    why, last = headline(document(nothing))
    assert why.endswith("nothing can be told, as its trial was not valid: the server died of signal 9")
    assert last == "there is no valid comparison to tell anything from"


def test_a_study_of_baselines_alone_is_said_to_compare_nothing() -> None:
    alone = fake_run(override(whole_tax(), "tls", ["off"]), number_of_blocks=3, invalid=False)
    assert headline(document(alone)) == [
        "nothing is compared: every case is a baseline of its own; the tables have what each came to"
    ]


@pytest.mark.parametrize(
    ("fraction", "plain", "signed"),
    [
        (0.0713, "7.1 %", "+7.1 %"),
        (-0.0041, "0.41 %", "\u22120.41 %"),
        (0.0, "0 %", "0 %"),
        (0.342, "34 %", "+34 %"),
        (3.9, "390 %", "+390 %"),
        (0.00001, "under 0.01 %", "+under 0.01 %"),
    ],
)
def test_percentages_read_well(fraction: float, plain: str, signed: str) -> None:
    assert percent(fraction) == plain
    assert signed_percent(fraction) == signed or plain.startswith("under")


def test_an_estimate_and_its_ends_are_rounded_alike() -> None:
    assert alike(7.13, 5.9, 8.2) == ["7.1", "5.9", "8.2"]
    assert alike(2.19, 2.15, 2.23) == ["2.19", "2.15", "2.23"]
    assert alike(120.0, 100.0, 140.0) == ["120", "100", "140"]
    assert alike(3.0, 3.0, 3.0) == ["3.0", "3.0", "3.0"]


def test_one_thing_is_not_many() -> None:
    assert [counted(number, "block") for number in (0, 1, 2)] == ["0 blocks", "1 block", "2 blocks"]


def test_an_interval_of_any_width_is_not_spelled_out() -> None:
    """Two blocks that scatter give intervals like -99 to +8685 %, which tell only that they are too few."""
    found = document(fake_run(number_of_blocks=2, noise=0.5, seed=3, invalid=False))
    wide = [f for f in found.findings if f.outcome == "ops_per_s" and not f.ratio.is_telling]
    assert wide, "the noise was meant to be too much"
    said = [sentence for sentence in headline(found) if "2 blocks are too few" in sentence]
    assert len(said) == len([f for f in wide if f.role == "treatment"])
    assert all("inconclusive" in sentence for sentence in said)
    assert percent(461.38) == ">1,000 %"
    assert interval(wide[0].ratio) == "[too wide]"


def test_how_well_something_is_known() -> None:
    assert known_to(0.034) == "known to ±3.4 %"
    assert known_to(461.38) == "not even known to ±100 %"


def test_of_several_servers_each_is_named() -> None:
    study = override(whole_tax(), "server", ["mysql-9.7", "mariadb-11.8"])
    sentences = headline(document(fake_run(study, number_of_blocks=2, invalid=False)))
    assert sentences[0].startswith("mysql-9.7: TLS 1.3 on kept connections: ")
    assert any(sentence.startswith("mariadb-11.8: reconnecting under TLS 1.2: ") for sentence in sentences)
    assert all(sentence.startswith(("mysql-9.7: ", "mariadb-11.8: ")) for sentence in sentences)


@pytest.mark.parametrize(
    ("text", "capital"),
    [
        ("point selects", "Point selects"),
        ("mysql-9.7: TLS", "mysql-9.7: TLS"),
        ("TLS 1.3", "TLS 1.3"),
        ("", ""),
    ],
)
def test_a_name_keeps_its_small_letter(text: str, capital: str) -> None:
    assert capitalised(text) == capital


def test_without_plaintext_the_answer_is_what_connections_made_anew_come_to() -> None:
    study = without_plaintext(TAX.design)
    assert study is not None
    found = document(fake_run(study, number_of_blocks=3, invalid=False))
    said = [sentence for sentence in headline(found) if "instead of keeping" in sentence]
    assert [sentence.partition(":")[0] for sentence in said] == [
        "reconnecting under TLS 1.3 instead of keeping connections",
        "reconnecting under TLS 1.3 resumed instead of keeping connections",
        "reconnecting under TLS 1.2 instead of keeping connections",
    ]
    assert all("operations a second" in sentence for sentence in said)
    assert not any(section.blocks for section in before_groups(found, brief=True)), (
        "what the answer has needs no table on a screen"
    )
