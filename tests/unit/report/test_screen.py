"""What `run` shows unasked: it fits a screen, hides nothing that bears on the answer, and names the rest."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from fake_trials import crashed, fake_run, kept, untrue
from report_runs import EVERY_RUN, Make, all_invalid, exact_run, guest, hostile, one_block, with_document
from tlstax.contract import OpenLoop
from tlstax.records.trial import OTHERS_RAN, StoredRun, TrialRecord
from tlstax.report.formats.render import render
from tlstax.report.formats.terminal import HELLO_RETRY_PAGE, MOST_NOTES, READING_PAGE, notes, precision_words
from tlstax.store.anonymise import anonymous
from tlstax.study import Study, at_rate, load_study, override
from tlstax.topics.answer.document import document

ROOT = Path(__file__).parents[3]
LINES, COLUMNS = 40, 80
PATH = "/srv/somebody/.local/share/tlstax/reports/20261122-065741-72dc.html"


def of_study(study: Study, **how: object) -> StoredRun:
    return fake_run(study, **how)  # type: ignore[arg-type]


def troubled() -> StoredRun:
    """The default run on a busy machine: too noisy, interrupted, a server that died, a busy client."""
    run = fake_run(load_study("tax"), noise=0.08, invalid=False)
    trials = tuple(
        crashed(record.trial)
        if record.trial.block == 1 and place % 5 == 0
        else record.model_copy(update={"beside_another": True})
        for place, record in enumerate(run.trials)
    )
    machine = run.header.machine.model_copy(update={"notes": (f"{OTHERS_RAN} (load average 7.10)",)})
    header = run.header.model_copy(update={"machine": machine})
    return run.model_copy(
        update={"trials": trials, "status": "interrupted", "stopped_because": "", "header": header}
    )


def default() -> StoredRun:
    return fake_run(load_study("tax"))


def text_of(stored: StoredRun, width: int = COLUMNS) -> str:
    return render(stored, document(stored), "terminal", width=width, report_path=PATH)


def words_of(stored: StoredRun, width: int = 200) -> str:
    return " ".join(text_of(stored, width).split())


@pytest.mark.parametrize("make", [default, troubled, guest, one_block, all_invalid])
def test_the_default_run_fits_a_screen(make: Make) -> None:
    lines = text_of(make()).splitlines()
    assert len(lines) <= LINES, "\n".join(lines)
    assert max(map(len, lines)) <= COLUMNS


def test_so_does_one_at_a_given_rate() -> None:
    study = override(load_study("tax"), "workload", ["point-select"])
    assert len(text_of(of_study(at_rate(study, OpenLoop(rate_per_s=5000)))).splitlines()) <= LINES


def test_a_busy_machine_is_told_of_from_a_pack_too() -> None:
    """As `observers/machine.py` says it: sentences of ours leave the machine, and this begins one."""
    note = f"{OTHERS_RAN} when this began: they kept 1.2 CPUs busy"
    run = troubled()
    machine = run.header.machine.model_copy(update={"notes": (note,)})
    packed = anonymous(run.model_copy(update={"header": run.header.model_copy(update={"machine": machine})}))
    assert note in notes(packed, document(packed))


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("make", EVERY_RUN.values(), ids=EVERY_RUN)
def test_no_line_is_wider_than_the_terminal(make: Make, width: int) -> None:
    text = render(*with_document(make), "terminal", width=width)
    assert text.strip()
    assert max(len(line) for line in text.splitlines()) <= width


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_every_ratio_stands_with_its_interval_however_narrow_it_is(width: int) -> None:
    text = "".join(render(*with_document(exact_run), "terminal", width=width).split())
    for ratio in ("−7.1%[−7.1…−7.1]", "÷4.90[4.90…4.90]", "0.0%[0.0…0.0]≈"):
        assert ratio in text


def test_the_precision_that_was_reached_stands_beside_the_one_that_was_wanted() -> None:
    reached = precision_words(document(default()))
    assert re.fullmatch(r"Precision: ±[\d.]+ % reached, ±2 % wanted, 8 blocks", reached)
    told = document(default()).model_copy(update={"stopped_because": "the budget of 60 s is spent; the rest"})
    assert precision_words(told) == f"{reached}; the budget of 60 s is spent"
    assert precision_words(with_document(one_block)[1]).startswith("Precision: not known of one block, ±2 %")
    assert precision_words(with_document(all_invalid)[1]) == ""


def test_an_early_end_and_trials_that_were_left_out_are_on_the_screen() -> None:
    stored = troubled()
    text = text_of(stored)
    invalid = sum(record.verdict.value != "valid" for record in stored.trials)
    assert re.search(r"^Note +the run was interrupted: 8 blocks were kept$", text, re.MULTILINE)
    assert re.search(rf"^Note +{invalid} of {len(stored.trials)} trials not valid", text, re.MULTILINE)
    assert f"{len(stored.trials) - invalid} of {len(stored.trials)} trials valid ({invalid} invalid" in text


def test_what_has_no_line_is_counted_and_the_command_for_it_named() -> None:
    stored = troubled()
    found = document(stored)
    bears = notes(stored, found)
    assert f"{OTHERS_RAN} (load average 7.10)" in bears
    assert len(bears) > MOST_NOTES
    more = len(bears) - MOST_NOTES
    some = f"{more} more note{'s' if more > 1 else ''}, everything else: tlstax report {found.run} -v"
    assert text_of(stored).splitlines()[-1] == some
    whole = " ".join(render(stored, found, "terminal", width=200, verbose=True).split())
    for caveat in found.caveats:
        assert " ".join(caveat.split()) in whole
    assert text_of(default()).splitlines()[-1].startswith("Everything else: tlstax report ")


def test_the_precision_is_not_said_twice() -> None:
    assert words_of(troubled()).count("recision") == 1


def test_a_second_client_hello_is_one_line_and_a_page() -> None:
    lines = [line for line in text_of(default()).splitlines() if "HelloRetryRequest" in line]
    assert len(lines) == 1
    said = rf"TLS 1.3 +HelloRetryRequest in [\d,]+ of [\d,]+ handshakes \({HELLO_RETRY_PAGE}\)"
    assert re.fullmatch(said, lines[0])
    assert [page for page in (HELLO_RETRY_PAGE, READING_PAGE) if not (ROOT / page).is_file()] == []


def test_what_was_proved_is_one_line() -> None:
    said = "64 of 64 trials valid; negotiated: TLSv1.3, TLSv1.2"
    study = override(load_study("tax"), "tls", ["1.3", "1.2"])
    assert said in words_of(of_study(study, invalid=False))
    assert "TLSv1.3 resumed" in words_of(default())


def test_trials_that_counted_locks_and_are_left_out_are_in_the_line_too() -> None:
    stored = fake_run(load_study("tax"), invalid=False)
    counting, other, *rest = stored.trials
    counting, other = (
        record.model_copy(update={"trial": record.trial.model_copy(update={"counted": True})})
        for record in (counting, untrue(other, "no lock"))
    )
    text = words_of(stored.model_copy(update={"trials": (counting, other, *rest)}))
    valid = f"{len(rest)} of {len(rest)} trials valid"
    assert f"{valid}; 1 of 2 that counted locks left out; negotiated: TLSv1.3" in text
    assert "1 of 2 trials in which locks were counted not valid and left out; the first was" in text
    assert "counted locks" not in words_of(stored.model_copy(update={"trials": (counting, *rest)}))


def test_a_case_without_a_valid_trial_says_why() -> None:
    def lost(record: TrialRecord) -> TrialRecord:
        return untrue(record, "no TLS") if record.trial.case.levels["tls"] == "1.2" else record

    run = fake_run(load_study("tax"), invalid=False)
    text = words_of(run.model_copy(update={"trials": tuple(map(lost, run.trials))}))
    assert text.count("TLS 1.2: no valid trial: no TLS") == 2


def test_many_groups_share_a_table() -> None:
    study = override(load_study("tax"), "connections", ["1", "8", "64"])
    text = text_of(of_study(study, invalid=False, noise=0.0))
    (title,) = (line for line in text.splitlines() if "Operations a second against" in line)
    table = text.split(title)[1]
    assert table.count("Point selects on kept connections") == 3
    assert table.count("÷4.90") == 3


def test_at_a_given_rate_latencies_are_the_answer() -> None:
    """Of both the median and the tail: how they compare with plaintext, and how surely."""
    study = at_rate(load_study("tax"), OpenLoop(rate_per_s=5000))
    run = of_study(study, truth=partial(_slower, 1.25), noise=0.0, invalid=False)
    change = r"\+25\.\d % \[\+25\.\d ?… ?\+25\.\d\]"
    for width in (80, 120):
        rows = [line for line in text_of(run, width).splitlines() if line.startswith("TLS 1.3  ")]
        found = [text for row in rows for text in re.findall(change, row)]
        assert len(found) == 2 * 2, "\n".join(rows)
    heads = text_of(run)
    assert heads.count("p50 µs") == heads.count("p99 µs") == 2


def _slower(times: float, case: object) -> object:
    is_plain = case.levels["tls"] == "off"  # type: ignore[attr-defined]
    return kept(28_000 / (1.0 if is_plain else times), 26.0, 8.4, record_bytes=0)


def test_a_server_cannot_steer_the_terminal() -> None:
    text = render(*with_document(hostile), "terminal")
    assert "\x1b" not in text
    assert "\u202e" not in text
