"""The page of a run that goes on: what it says at each moment, and that nobody else's words act in it."""

from __future__ import annotations

import re

import pytest

from intervals import known
from live_runs import HOSTILE, begun, hostile, over, preparing
from tlstax.report.page import live as words
from tlstax.report.page.live import (
    BOTTOM,
    HEIGHT,
    LEFT,
    LIVE_PARTS,
    RIGHT,
    TOP,
    WIDTH,
    live_html,
    live_parts,
    strips,
)
from tlstax.results.live import KnownRatio, LiveRun, LiveStatus


def page(live: LiveRun) -> str:
    return live_html(live_parts(live), version=1, is_last=live.is_over, nonce="NONCE")


@pytest.mark.parametrize(
    ("live", "said"),
    [
        (LiveRun(), "The run is being made ready."),
        (preparing(), "The run is being made ready: starting mysql-9.7."),
        (begun(0), "The first block is being measured; about 42 s left."),
        (begun(1), "1 block measured: 0 of 8 ratios known to ±2 %; about 42 s left."),
        (begun(4), "4 blocks measured: 0 of 8 ratios known to ±2 %; about 42 s left."),
        (over(), "The run is complete: every ratio is known to ±2 %."),
        (over("interrupted"), "The run was interrupted: every ratio is known to ±2 %."),
        (over("failed"), "The run failed: every ratio is known to ±2 %."),
    ],
)
def test_a_sentence_says_where_the_run_is(live: LiveRun, said: str) -> None:
    assert words.status(live) == said


def test_precise_ratios_are_counted() -> None:
    live = begun(4)
    ratios = [ratio.model_copy(update={"precise": place < 3}) for place, ratio in enumerate(live.ratios)]
    assert "3 of 8 ratios known" in words.status(live.model_copy(update={"ratios": tuple(ratios)}))


def test_the_noise_floor_is_there_once_a_control_has_an_interval() -> None:
    assert words.noise_floor(begun(1)) == ""
    assert re.match(r"±[\d.]+ % to ±[\d.]+ %, of 2 controls; ", words.noise_floor(begun(4)))
    live = begun(4)
    first = live.model_copy(update={"ratios": live.ratios[:4]})
    assert re.match(r"±[\d.]+ %; ", words.noise_floor(first))


def test_what_comes_next_and_the_time_left_are_shown_until_the_end() -> None:
    assert {"Now", "Time left", "Noise floor"} <= dict(words.facts(begun(4))).keys()
    assert not {"Now", "Time left"} & dict(words.facts(over())).keys()


@pytest.mark.parametrize("status", ["complete", "interrupted", "failed"])
def test_a_run_that_has_ended_is_told_as_ended(status: LiveStatus) -> None:
    found = page(over(status))
    assert ">Result</h2>" in found
    assert not re.search(r">Now</h2>|so far|not yet|appear when", found)
    of_none = page(over(status).model_copy(update={"ratios": ()}))
    assert not re.search(r"appear when|An interval takes", of_none)
    assert ">Now</h2>" in page(begun(4))


def test_a_ratio_that_is_narrow_and_of_few_blocks_lacks_blocks() -> None:
    live = begun(4)
    narrow = KnownRatio(label="a", history=(known(1.1, 1.09, 1.11, blocks=3),), precise=False)
    wide = KnownRatio(label="b", history=(known(1.1, 0.9, 1.3, blocks=3),), precise=False)
    for ended, state in ((live, "not yet"), (over(), "not reached")):
        rows = words.rows(ended.model_copy(update={"ratios": (narrow, wide), "wanted": 0.02}))
        assert [row["state"] for row in rows] == ["of few blocks", state]


def test_an_axis_fits_its_data() -> None:
    """Two blocks may leave an interval from a hundredth to a hundred times, which tells nothing."""
    (strip,) = strips(
        (KnownRatio(label="a", history=(known(3.0, 0.04, 240.0, blocks=2),), precise=False),), 0.02
    )
    assert (strip["above"], strip["middle"], strip["below"]) == ("×10", "3×", "÷10")


@pytest.mark.parametrize("live", [LiveRun(), preparing(), begun(0), begun(1), begun(5), over(), hostile()])
def test_the_page_is_whole_at_every_moment(live: LiveRun) -> None:
    found = page(live)
    assert set(live_parts(live)) == set(LIVE_PARTS)
    assert found.count('data-part="') == len(LIVE_PARTS)
    assert re.findall(r"<(?:script|style)(?! nonce=\"NONCE\")", found) == []
    assert " style=" not in found
    assert re.findall(r"(?:src|href)=\"(?!data:|report\")", found) == []


def test_what_others_say_does_nothing() -> None:
    found = page(hostile())
    assert HOSTILE not in found
    assert "<script>alert" not in found
    assert "\x1b" not in found
    assert "\u202e" not in found
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in found


def test_the_end_links_to_the_report_where_there_is_one() -> None:
    assert '<a href="report">' in live_parts(over(), has_report=True)["report"]
    without = live_parts(over())["report"]
    assert "<a" not in without
    assert f"tlstax runs watch {over().run}" in without
    assert live_parts(begun(3))["report"] == ""


def test_a_row_says_how_well_its_ratio_is_known() -> None:
    rows = words.rows(begun(1))
    assert {(row["interval"], row["known"], row["mark"]) for row in rows} == {
        ("", "one block shows no interval", "?")
    }
    assert all(re.fullmatch(r"±[\d.]+ %", row["known"]) for row in words.rows(begun(5)))
    control = next(row for row in words.rows(begun(5)) if "control" in row["label"])
    assert control["mark"] == "≈"


def places(points: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (place.split(",") for place in points.split())]


def test_a_strip_narrows_as_its_interval_does_and_stays_within_its_drawing() -> None:
    history = tuple(known(0.7, 0.7 / (1 + width), 0.7 * (1 + width), blocks) for blocks, width in
                    ((2, 5.0), (3, 0.1), (4, 0.05), (5, 0.02)))  # fmt: skip
    (strip,) = strips((KnownRatio(label="TLS 1.3", history=history, precise=True, noise_floor=0.01),), 0.02)
    outline = places(strip["area"])
    highs, lows = outline[:4], outline[:3:-1]
    heights = [low[1] - high[1] for high, low in zip(highs, lows, strict=True)]
    assert heights == sorted(heights, reverse=True)
    assert len(set(heights)) == 4
    assert all(LEFT <= x <= WIDTH - RIGHT and TOP <= y <= HEIGHT - BOTTOM for x, y in outline)
    assert (strip["first"], strip["last"], strip["middle"]) == (2, 5, "0.7×")
    assert "known to ±500 % after 2 and to ±2 % now" in strip["words"]
    assert strip["none"] is None
    assert strip["floor"] is None


def test_no_difference_and_the_noise_floor_are_drawn_where_they_are_in_sight() -> None:
    history = (known(1.01, 0.97, 1.05, 2), known(1.005, 0.99, 1.02, 3))
    (strip,) = strips((KnownRatio(label="control", history=history, precise=True, noise_floor=0.015),), 0.02)
    assert strip["none"] is not None
    assert strip["floor"] is not None
    top, height = strip["floor"]
    assert top < strip["none"] < top + height
    assert len(strip["wanted"]) == 2


def test_one_block_has_no_strip_and_one_interval_is_a_dot() -> None:
    one = known(0.7, None, None, 1)
    assert strips((KnownRatio(label="a", history=(one,), precise=False),), 0.02) == []
    (strip,) = strips((KnownRatio(label="a", history=(one, known(0.7, 0.6, 0.8, 2)), precise=False),), 0.02)
    assert len(strip["dots"]) == 1
