"""The whole report in a terminal: what it says, that it fits, that it needs no colour."""

from __future__ import annotations

import re

import pytest

from fake_slices import in_turns, slices_of
from fake_trials import crashed, fake_run
from report_runs import (
    EVERY_RUN,
    Make,
    all_invalid,
    baseline_lost,
    changed,
    exact_run,
    guest,
    hostile,
    noisy_run,
    not_begun,
    one_block,
    one_case_lost,
    one_workload_one_level,
    with_document,
)
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.report.formats.render import render
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline
from tlstax.topics.core import figures
from tlstax.topics.core.facts import trials_words

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def shown(make: Make, *, width: int = 80, colour: bool = False, report_path: str = "") -> str:
    found = with_document(make)
    return render(*found, "terminal", width=width, colour=colour, report_path=report_path, verbose=True)


def rows(text: str, label: str) -> list[list[str]]:
    """The cells of every row with this label."""
    lines = (line for line in text.splitlines() if line.startswith(f"{label}  "))
    return [re.split(r"\s{2,}", line)[1:] for line in lines]


def test_the_planted_ratios_are_shown_with_three_digits() -> None:
    text = shown(exact_run)
    point_select, its_cpu, reconnect, reconnect_cpu, *_ = rows(text, "TLS 1.3")
    assert point_select[:2] == ["26,000", "−7.1 % [−7.1 … −7.1]"]
    assert its_cpu == ["28.6", "+10.0 %", "10.9", "+29.8 %"]
    assert reconnect[:2] == ["1,020", "÷4.90 [4.90 … 4.90]"]
    assert reconnect_cpu == ["1,450", "×7.63", "420", "×5.68"]


def test_the_control_is_a_row_like_the_others_and_marked_as_no_different() -> None:
    assert rows(shown(exact_run), "plaintext again")[0][:2] == ["28,000", "0.0 % [0.0 … 0.0] ≈"]


def test_it_begins_with_the_answer_in_words() -> None:
    _, document = with_document(exact_run)
    text = " ".join(shown(exact_run, width=200).split())
    sentences = headline(document)
    assert sentences
    for sentence in sentences:
        assert sentence[1:] in text
    assert text.index(sentences[-1][1:]) < text.index("ops/s")


def test_it_says_what_ran_where_and_why_it_ended() -> None:
    text = " ".join(shown(noisy_run, report_path="tax.html").split())
    for said in (
        "mysql-9.7, 9.7.4 with OpenSSL 3.6.1",
        "tlstax-engine 0.1.0 with OpenSSL 3.5.5",
        "Fake CPU @ 3.00GHz, 2 cores, 8.00 GiB",
        "server on CPU 0, client on CPU 1",
        "78 valid, 2 invalid, 0 unknown, in 8 blocks",
        "complete: every ratio is known to ±2 %",
        "seed 7",
        "TLSv1.3 TLS_AES_128_GCM_SHA256 secp256r1, resumed",
        "the server died of signal 9",
        "Report: tax.html",
    ):
        assert said in text


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("make", EVERY_RUN.values(), ids=EVERY_RUN)
def test_no_line_is_wider_than_the_terminal(make: Make, width: int) -> None:
    text = shown(make, width=width)
    assert text.strip()
    assert max(len(line) for line in text.splitlines()) <= width


def test_colour_adds_nothing_but_colour() -> None:
    coloured = shown(noisy_run, width=120, colour=True)
    assert ANSI.search(coloured)
    plain = [line.rstrip() for line in ANSI.sub("", coloured).splitlines()]
    assert plain == shown(noisy_run, width=120).splitlines()


def test_at_120_columns_each_group_is_one_table() -> None:
    assert len(rows(shown(noisy_run, width=120), "TLS 1.2")) == 2 + 1  # one a group, one negotiated


def test_columns_that_do_not_fit_are_not_lost() -> None:
    def numbers(width: int) -> set[str]:
        found = {cell for row in rows(shown(noisy_run, width=width), "TLS 1.2") for cell in row}
        return {cell for cell in found if not cell.startswith("TLSv")}

    assert numbers(60) == numbers(120)


def test_what_the_machine_cannot_tell_is_said_once() -> None:
    def limited() -> StoredRun:
        run = noisy_run()
        machine = run.header.machine.model_copy(update={"notes": ("cycles are not counted here",)})
        return run.model_copy(update={"header": run.header.model_copy(update={"machine": machine})})

    assert " ".join(shown(limited).split()).count("cycles are not counted here") == 1
    assert "Limits" not in shown(noisy_run)


def test_an_external_server_has_no_cpu_and_is_called_one() -> None:
    text = shown(guest)
    assert ", an external server" in text
    assert [line.count("CPU/op") for line in text.splitlines() if "CPU/op" in line] == [1, 1]
    assert rows(text, "TLS 1.3")[1] == ["10.9", "+29.8 %"]


def test_one_block_shows_a_change_without_an_interval() -> None:
    text = shown(one_block)
    said = "One block alone shows no scatter: all is inconclusive (?), and there is no noise floor."
    assert said in " ".join(text.split())
    assert rows(text, "TLS 1.3")[0][1].endswith("% ?")
    assert figures.ALIKE not in text
    assert "…" not in text


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (all_invalid, "none of 20 trials was valid: a session was not resumed (20 trials)"),
        (baseline_lost, "no block has a valid trial of a baseline: the server died of signal 9"),
        (not_begun, "no trial was run"),
    ],
)
def test_where_there_is_nothing_to_show_it_says_why(make: Make, why: str) -> None:
    assert f"Nothing to show, because {why}" in " ".join(shown(make).split())


def test_a_case_without_a_valid_trial_keeps_its_row_and_says_why() -> None:
    text = shown(one_case_lost)
    assert rows(text, "TLS 1.2")[0] == ["–", "–", "–"]
    assert "TLS 1.2: no valid trial: the server died of signal 9" in text


def test_a_group_without_a_valid_trial_has_reasons_and_no_empty_table() -> None:
    def lost(record: TrialRecord) -> TrialRecord:
        return crashed(record.trial) if record.trial.case.levels.workload == "reconnect" else record

    stored = changed(exact_run(), lost)
    text = render(stored, document(stored), "terminal", width=100, verbose=True)
    lines = text.split("Reconnecting for every point select")[1].splitlines()
    assert any(line.startswith("TLS 1.3: ") for line in lines)
    assert not any(line.strip() == "TLS 1.3" for line in lines)


def test_a_server_cannot_steer_the_terminal() -> None:
    text = shown(hostile)
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_it_says_how_long_the_slices_were_and_that_a_storms_are_its_rounds() -> None:
    stored, document = with_document(exact_run)
    kept = slices_of([(20, 1.0)] * 5)
    storm = kept.model_copy(update={"length_s": 1e-6, "rounds_s": (0.01,) * 5})
    for slices, said in (
        ((None, None), ""),
        ((kept, None), ", in slices of 5.00 ms"),
        ((kept, kept.model_copy(update={"length_s": 0.2})), ", in slices of 5.00 ms to 200 ms"),
        ((storm, storm), ", in slices of one round of a storm"),
        ((kept, storm), ", in slices of 5.00 ms and one round of a storm"),
    ):
        first, second, *others = stored.trials
        pair = (in_turns(record.trial, one) for record, one in zip((first, second), slices, strict=True))
        words = trials_words(stored.model_copy(update={"trials": (*pair, *others)}), document)
        assert words.partition(", in slices")[1:] == said.partition(", in slices")[1:]


@pytest.mark.parametrize("reached", [1, 2, 4, 8])
def test_a_run_that_came_to_one_of_its_many_groups_shows_that(reached: int) -> None:
    """It was cut off in its first block, which began with the first group of its study or with another."""
    study = one_workload_one_level().header.study
    levels = {**study.factors, "connections": (1, 2, 4, 8)}
    whole = fake_run(study.model_copy(update={"factors": levels}), number_of_blocks=1, invalid=False)
    trials = (own for own in whole.trials if own.trial.case.levels["connections"] == reached)
    part = whole.model_copy(update={"trials": tuple(trials)})
    text = render(part, document(part), "terminal")
    changes = re.findall(r"Point selects on kept connections, (\d) connections? +(.)", text)
    assert changes == [(str(level), "−" if level == reached else "–") for level in (1, 2, 4, 8)]
