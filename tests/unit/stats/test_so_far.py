"""What a run that goes on shows of its ratios: their names, their order, and which are told first."""

from __future__ import annotations

import pytest

from fake_trials import fake_run
from intervals import known
from tlstax.plan.order import cases
from tlstax.results.live import KnownRatio
from tlstax.stats.stopping import decide, most_telling, short_labels
from tlstax.study import Study, load_study, override

TAX = load_study("tax")
RECONNECT = override(TAX, "workload", ["reconnect"])
LADDER = Study(
    name="ladder",
    title="Ladder",
    question="What do many connections cost?",
    factors={"workload": ("reconnect",), "connections": (8, 64), "tls": ("1.3",)},
    baseline={"connections": 8},
)


def ratio(label: str, point: float, low: float | None, high: float | None) -> KnownRatio:
    return KnownRatio(label=label, history=(known(point, low, high, 5),), precise=False)


def test_labels_leave_out_what_all_cases_say() -> None:
    assert list(short_labels(RECONNECT).values()) == [
        "plaintext",
        "plaintext again (control)",
        "TLS 1.3",
        "TLS 1.3 resumed",
        "TLS 1.2",
    ]
    two = list(short_labels(TAX).values())
    assert two[0] == "plaintext, point selects on kept connections"
    assert two[-1] == "TLS 1.2, reconnecting for every point select"
    assert list(short_labels(TAX)) == [case.key() for case in cases(TAX)]


def test_what_only_some_cases_say_stays() -> None:
    labels = list(short_labels(override(RECONNECT, "connections", ["8", "64"])).values())
    assert labels[0] == "plaintext, 8 connections"
    assert labels[-1] == "TLS 1.2, 64 connections"


def test_a_case_that_says_only_what_all_say_keeps_its_whole_name() -> None:
    """A direct path goes without saying, so that its case has no words of its own."""
    study = Study(
        name="paths",
        title="Paths",
        question="What does stunnel cost?",
        factors={
            "workload": ("reconnect",),
            "connections": (8,),
            "tls": ("1.3",),
            "path": ("stunnel", "direct"),
        },
        baseline={"tls": "1.3", "path": "stunnel"},
    )
    assert list(short_labels(study).values()) == [
        "through stunnel",
        "through stunnel again (control)",
        "TLS 1.3, reconnecting for every point select, 8 connections",
    ]


def test_cases_are_called_by_what_their_study_compares() -> None:
    assert list(short_labels(LADDER).values()) == [
        "8 connections",
        "8 connections again (control)",
        "64 connections",
    ]


def test_progress_is_told_in_the_words_of_the_study() -> None:
    study = RECONNECT.model_copy(update={"deciding_outcome": "server_cpu_us_per_op"})
    stored = fake_run(study, number_of_blocks=2, invalid=False)
    progress = decide(study, stored.measured, 9.0).progress
    assert (progress.outcome, progress.baseline) == ("server CPU per operation", "plaintext")
    assert [(known.label, known.is_control) for known in progress.known] == [
        ("plaintext again (control)", True),
        ("TLS 1.3", False),
        ("TLS 1.3 resumed", False),
        ("TLS 1.2", False),
    ]


def test_a_baseline_is_called_as_its_study_calls_it() -> None:
    assert decide(LADDER, (), 0.0).progress.baseline == "8 connections"


@pytest.mark.parametrize(
    ("count", "labels"),
    [
        (0, []),
        (-1, []),
        (1, ["a fifth"]),
        (2, ["a half", "a fifth"]),
        (3, ["a half", "twice", "a fifth"]),
        (4, ["a half", "unsure", "twice", "a fifth"]),
        (9, ["a half", "unsure", "one block", "half known", "no low end", "twice", "a fifth", "near"]),
    ],
)
def test_the_farthest_from_one_beyond_doubt_come_first_and_keep_their_order(
    count: int, labels: list[str]
) -> None:
    """A half is certain to be 0.5 to 0.6, twice 1.6 to 9: 1/0.6 is farther from 1 than 1.6."""
    ratios = [
        ratio("a half", 0.55, 0.5, 0.6),
        ratio("unsure", 0.1, 0.001, 1.0),
        ratio("one block", 0.01, None, None),
        ratio("half known", 0.01, 0.005, None),
        ratio("no low end", 0.01, None, 0.02),
        ratio("twice", 3.0, 1.6, 9.0),
        ratio("a fifth", 0.2, 0.19, 0.21),
        ratio("near", 1.5, 1.0, 2.0),
    ]
    assert [each.label for each in most_telling(ratios, count)] == labels
