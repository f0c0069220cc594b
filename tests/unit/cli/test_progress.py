"""What is seen while it works: lines that fit the terminal, rewritten in place, or plain without one."""

import os
import re
import threading
from dataclasses import replace
from functools import cache
from io import BytesIO, StringIO, TextIOWrapper

import pytest

from fake_terminal import FakeTerminal
from fake_trials import fake_run, whole_tax
from tlstax.cli.progress import MOST_RATIOS, InPlace, Moment, ProgressLine, view
from tlstax.plan.order import blocks, cases
from tlstax.plan.timing import block_s
from tlstax.run.progress import Outlook, Step
from tlstax.stats.stopping import Progress, decide, most_telling, short_labels
from tlstax.study import override

PROGRESS = Progress(blocks=3, worst_half_width=0.031, worst="TLS 1.3", wanted=0.02, left_blocks=4, left_s=29)
STEP = Step(block=3, place=2, of=10, label="TLS 1.3, reconnecting", progress=PROGRESS, left_s=29, share=0.46)

TAX = whole_tax()
STUDIES = {
    "small": override(override(TAX, "tls", ("off", "1.3")), "workload", ("reconnect",)),
    "tax": TAX,
    "large": override(TAX, "connections", (1, 8, 64, 512)),
}


@pytest.fixture(autouse=True)
def _a_terminal_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)


@cache
def _step(name: str = "tax", number_of_blocks: int = 4, noise: float = 0.015) -> Step:
    """The first trial of the block that follows N."""
    study = STUDIES[name]
    outlook = Outlook(study, 0.1, 0.0, now_s=0.0)
    trial = next(blocks(study, 1))[0]
    outlook.step(trial, 0.0)
    if number_of_blocks:
        run = fake_run(study, number_of_blocks=number_of_blocks, noise=noise, invalid=False)
        outlook.decided(decide(study, run.measured, 24.0).progress, 24.0)
    return outlook.step(trial.model_copy(update={"block": number_of_blocks}), 25.0)


def _on(terminal: FakeTerminal) -> ProgressLine:
    return ProgressLine(stream=terminal, size=terminal.size)


@pytest.mark.parametrize("columns", [*range(40, 82), *range(82, 200, 7), 200])
@pytest.mark.parametrize("name", STUDIES)
def test_no_line_is_as_wide_as_the_terminal(name: str, columns: int) -> None:
    terminal = FakeTerminal(columns)
    line = _on(terminal)
    for number_of_blocks in (0, 1, 4):
        line.trial(_step(name, number_of_blocks))
        assert len(terminal.shown()) < terminal.lines
    line.step("filling the table with 100,000 rows, which is done once for all the trials of this server")
    line.warn("the server died in a trial, which is not counted; starting it again for the next one (1)")
    line.now("checking mysql-9.7, which has a name that goes on and on" * 5, share=0.5, left_s=7000)
    assert terminal.widest < columns
    line.close()
    assert "checking" not in "".join(terminal.shown())


def test_a_run_is_seen_with_its_bar_its_trial_and_its_ratios() -> None:
    terminal = FakeTerminal(110)
    _on(terminal).trial(_step())
    bar, trial, heading, *ratios = terminal.shown()
    assert re.search(r"^  0:0\d  ━+╸━+  42 % · 35 s left$", bar)
    assert trial.strip().startswith("block 5, trial 1 of 10: ")
    assert heading.strip() == "operations a second against plaintext, 4 blocks (wanted: ±2 %)"
    assert len(ratios) == 8
    assert re.search(r"TLS 1.3, reconnecting for every point select +÷4\.\d+ +±3\.\d %  noisy$", ratios[5])
    assert "8 connections" not in "".join(ratios)


def test_what_is_as_well_known_as_wanted_carries_no_mark() -> None:
    terminal = FakeTerminal(110)
    _on(terminal).trial(_step(number_of_blocks=8, noise=0.0001))
    assert "noisy" not in terminal.getvalue()
    assert "TLS 1.3" in terminal.getvalue()


def test_what_is_narrow_enough_and_of_few_blocks_is_not_called_noisy() -> None:
    """Each word follows from the figure that it stands beside."""
    terminal = FakeTerminal(110)
    _on(terminal).trial(_step(number_of_blocks=3, noise=0.0001))
    rows = terminal.shown()[3:]
    assert len(rows) == 8
    assert all(row.endswith(" few blocks") for row in rows)


def test_one_block_alone_has_ratios_and_no_interval() -> None:
    terminal = FakeTerminal(110)
    _on(terminal).trial(_step(number_of_blocks=1))
    heading, *ratios = terminal.shown()[2:]
    assert heading.strip().startswith("operations a second against plaintext, 1 block")
    assert all(re.search(r"(?:%|÷\S+)  few blocks$", row) for row in ratios)
    assert not any("±" in row for row in ratios)


@pytest.mark.parametrize("lines", [1, 2, 3, 4, 5, 6, 8, 12, 24])
def test_of_many_ratios_the_most_telling_are_shown_as_the_height_allows(lines: int) -> None:
    step = _step("large")
    assert step.progress is not None
    moment = Moment("block 5", 0.5, "29 s", step.progress)
    shown = view(moment, "  0:25", os.terminal_size((80, lines)), colour=False)
    assert len(shown) <= max(1, lines - 1)
    assert "block 5" in "".join(shown)
    rows = [row for row in shown if "noisy" in row]
    if lines >= 6:
        assert len(rows) == min(MOST_RATIOS, lines - 5)
        assert shown[-1].strip() == f"and {len(step.progress.known) - len(rows)} more"
        assert all("÷" in row for row in rows)


def test_the_most_telling_are_those_surely_farthest_from_none_in_their_order() -> None:
    step = _step()
    assert step.progress is not None
    ratios = step.progress.known
    chosen = most_telling(ratios, 3)
    assert [one.label for one in chosen] == [
        "TLS 1.3, reconnecting for every point select",
        "TLS 1.3 resumed, reconnecting for every point select",
        "TLS 1.2, reconnecting for every point select",
    ]
    assert most_telling(ratios, 99) == list(ratios)
    assert most_telling(ratios, -1) == []


def test_labels_leave_out_what_all_cases_share() -> None:
    labels = short_labels(TAX)
    assert not any("8 connections" in label for label in labels.values())
    assert len(set(labels.values())) == len(cases(TAX))
    assert all(short_labels(STUDIES["small"]).values())


def test_labels_that_are_cut_are_still_told_apart() -> None:
    terminal = FakeTerminal(40)
    _on(terminal).trial(_step())
    labels = [row[:20] for row in terminal.shown()[3:]]
    assert len(set(labels)) == len(labels) == 8


def test_a_refresh_takes_the_place_of_the_one_before() -> None:
    terminal = FakeTerminal(80)
    line = _on(terminal)
    line.step("starting mysql-9.7")
    for number_of_blocks in (0, 4, 1):
        line.trial(_step(number_of_blocks=number_of_blocks))
    shown = terminal.shown()
    assert [row for row in shown if "trial 1 of 10" in row] == [shown[2]]
    assert len([row for row in shown if "━" in row]) == 1
    line.close()
    assert terminal.shown() == ["  0:00  starting mysql-9.7", ""]


@pytest.mark.parametrize(("before", "after"), [(200, 40), (110, 60), (60, 110), (40, 200), (80, 41)])
def test_a_resize_leaves_nothing_behind(before: int, after: int) -> None:
    terminal = FakeTerminal(before)
    line = _on(terminal)
    line.step("starting")
    line.trial(_step())
    terminal.columns = after
    line.trial(_step())
    assert len(terminal.shown()) == 12
    terminal.columns = before
    line.close()
    assert terminal.shown() == ["  0:00  starting", ""]


def test_a_warning_stays_above_what_goes_on() -> None:
    terminal = FakeTerminal(80)
    line = _on(terminal)
    line.trial(STEP)
    line.warn("the server died")
    assert terminal.shown()[0] == "tlstax: the server died"
    assert "trial 2 of 10: TLS 1.3, reconnecting" in terminal.shown()[2]
    line.close()
    assert terminal.shown() == ["tlstax: the server died", ""]


def test_nothing_that_steers_a_terminal_gets_through() -> None:
    terminal = FakeTerminal(80)
    line = _on(terminal)
    wicked = "\x1b]0;owned\x07\x1b[2J[red]\n"
    line.trial(replace(STEP, label=wicked))
    line.now(wicked)
    line.step(wicked)
    line.warn(wicked)
    written = terminal.getvalue()
    assert "\x07" not in written
    assert "\x1b]" not in written
    assert "\x1b[2J" not in written
    assert "[red]" in written
    plain = StringIO()
    line = ProgressLine(stream=plain)
    line.step(wicked)
    line.warn(wicked)
    line.trial(replace(STEP, label=wicked))
    assert "\x1b" not in plain.getvalue()
    assert plain.getvalue().count("\n") == 3


def test_no_thread_is_started_and_the_cursor_is_left_alone() -> None:
    before = threading.enumerate()
    terminal = FakeTerminal(80)
    line = _on(terminal)
    line.trial(_step())
    assert threading.enumerate() == before
    line.close()
    assert "\x1b[?" not in terminal.getvalue()


def test_colours_are_left_out_where_they_are_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    coloured, plain = FakeTerminal(80), FakeTerminal(80)
    _on(coloured).trial(_step())
    assert re.search(r"\x1b\[[\d;]*3\dm", coloured.getvalue())
    monkeypatch.setenv("NO_COLOR", "1")
    _on(plain).trial(_step())
    assert not re.search(r"\x1b\[[\d;]*m", plain.getvalue())
    assert plain.shown()[1:] == coloured.shown()[1:]


@pytest.mark.parametrize("name", ["dumb", "unknown", None])
def test_a_terminal_that_cannot_move_its_cursor_gets_plain_lines(
    name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name is None:
        monkeypatch.delenv("TERM")
    else:
        monkeypatch.setenv("TERM", name)
    terminal = FakeTerminal(80)
    line = _on(terminal)
    line.step("starting")
    line.trial(_step())
    line.trial(_step())
    line.close()
    assert "\x1b" not in terminal.getvalue()
    assert "\r" not in terminal.getvalue()
    assert terminal.getvalue().count("\n") == 2


def test_without_a_terminal_there_are_plain_lines_that_hold_all() -> None:
    stream = StringIO()
    line = ProgressLine(stream=stream)
    line.trial(STEP)
    line.trial(STEP)
    line.close()
    assert stream.getvalue() == (
        "  0:00  block 4, trial 2 of 10 · known to ±3.1% (wanted ±2.0%) · 29 s left · TLS 1.3, reconnecting\n"
    )


def test_a_terminal_without_these_characters_gets_others_of_the_same_width() -> None:
    written = BytesIO()
    stream = TextIOWrapper(written, encoding="latin-1")
    stream.isatty = lambda: True  # type: ignore[method-assign]
    line = ProgressLine(stream=stream, size=lambda: os.terminal_size((80, 24)))
    line.trial(_step())
    shown = written.getvalue().decode("latin-1")
    assert "=====" in shown
    assert re.search(r"point selects on kept connections +-7\.4 %  ±4\.3 %", shown)


@pytest.mark.parametrize(("left_s", "said"), [(7200, "2.0 h"), (1500, "25 min"), (119, "119 s"), (-3, "0 s")])
def test_the_time_left_is_said_in_a_fitting_unit(left_s: float, said: str) -> None:
    terminal = FakeTerminal(80)
    _on(terminal).trial(replace(STEP, left_s=left_s, progress=None))
    assert f"46 % · {said} left" in terminal.shown()[0]


def test_of_many_ratios_a_plain_line_tells_what_half_of_them_are_known_to() -> None:
    stream = StringIO()
    many = replace(PROGRESS, ratios=986, median_half_width=0.052, worst_half_width=3.0)
    ProgressLine(stream=stream).trial(replace(STEP, progress=many))
    assert "half of 986 ratios to ±5.2% (wanted ±2.0%)" in stream.getvalue()


def test_quiet_progress_shows_warnings_only() -> None:
    for stream in (StringIO(), FakeTerminal(80)):
        line = ProgressLine(quiet=True, stream=stream)
        line.step("starting")
        line.trial(STEP)
        line.now("checking")
        line.warn("the server died")
        line.close()
        assert stream.getvalue() == "tlstax: the server died\n"


def test_a_terminal_that_does_not_tell_its_size_is_taken_for_a_usual_one() -> None:
    for size in ((0, 0), (80, 0), (0, 24)):
        assert InPlace(StringIO(), lambda size=size: os.terminal_size(size)).size() == (80, 24)
    assert InPlace(StringIO()).size() == (80, 24)


def test_how_much_is_done_follows_from_what_is_spent_and_what_is_left() -> None:
    step = _step()
    assert step.share == pytest.approx(25 / (25 + step.left_s))
    assert step.left_s == pytest.approx(35)


def test_a_number_of_blocks_tells_how_long_it_takes_before_the_first_is_done() -> None:
    few = STUDIES["small"].model_copy(update={"maximum_blocks": 3, "budget_s": 36_000.0})
    estimated_s = 3 * block_s(few, cases(few), 0.1)
    assert Outlook(few, 0.1, 0.0, now_s=0.0).rest(0.0)[1] == pytest.approx(estimated_s)
    short = few.model_copy(update={"budget_s": estimated_s / 2})
    assert Outlook(short, 0.1, 0.0, now_s=0.0).rest(0.0)[1] == pytest.approx(estimated_s / 2)
    assert Outlook(few, 0.1, 0.0, now_s=0.0).rest(10 * estimated_s)[1] == 0.0
