"""What a row says of itself and leaves out; rows found by their outcomes, put together by case and label."""

from __future__ import annotations

import pytest

from intervals import known
from tlstax.results.rows import Row, RowSet, Told, by_case, by_label

TIME = Row(outcome="connection: time", unit="ms", interval=known(2.0, 1.0, 3.0, 4))
TRIPS = Row(outcome="connection: time", unit="round trips", value=5.0)
PLAIN = Row(outcome="share", unit="1", interval=known(0.5, 0.4, 0.6, 4))
ROWS = RowSet([TIME, TRIPS, PLAIN])


def test_an_interval_of_a_value_says_what_the_value_is_and_of_how_many_blocks() -> None:
    row = Row(interval=known(2.0, 1.0, 3.0, 4))
    assert (row.value, row.blocks) == (2.0, 4)
    own_words = Row(interval=known(2.0, 1.0, 3.0, 4), of="value")
    assert own_words.value == 2.0
    own = Row(interval=known(2.0, 1.0, 3.0, 4), value=2.1, blocks=3)
    assert (own.value, own.blocks) == (2.1, 3)


def test_an_interval_of_a_ratio_says_nothing_of_the_value() -> None:
    row = Row(interval=known(1.2, 1.1, 1.3, 4), of="ratio", value=None)
    assert (row.value, row.blocks) == (None, 4)
    assert Row(interval=known(1.2, 1.1, 1.3, 4), of="ratio", value=60.0).value == 60.0


def test_a_row_has_what_is_known_alone_in_json() -> None:
    assert Row().model_dump() == {"of": "value"}
    assert Row(outcome="time", value=0.0, noise_floor=0.0).model_dump() == {
        "outcome": "time",
        "value": 0.0,
        "of": "value",
        "noise_floor": 0.0,
    }


def test_only_what_a_row_is_of_is_read_from_it() -> None:
    interval = known(1.2, 1.1, 1.3, 4)
    ratio, difference = (Row(outcome="time", of=of, interval=interval) for of in ("ratio", "difference"))
    assert ratio.ratio == ratio.known == difference.difference == interval
    with pytest.raises(ValueError, match=r"^the row of time is of a ratio, not of a difference$"):
        _ = ratio.difference
    with pytest.raises(ValueError, match=r"^the row of time is of a difference, not of a ratio$"):
        _ = difference.ratio
    with pytest.raises(ValueError, match=r"^the row of time has no interval$"):
        _ = Row(outcome="time", value=2.0).known


def test_a_topics_own_columns_are_read_as_numbers_and_as_text() -> None:
    row = Row(more={"trips": 3, "share": 0.5, "curve": "x25519", "groups": (29, 23), "none": None})
    assert [row.number(name) for name in ("trips", "share", "curve", "none", "other")] == [
        3.0,
        0.5,
        None,
        None,
        None,
    ]
    assert [row.word(name) for name in ("curve", "trips", "groups", "none", "other")] == [
        "x25519",
        "3",
        "29, 23",
        "",
        "",
    ]


def test_rows_are_asked_for_by_outcome_and_by_role() -> None:
    time, rate, other = (
        Row(outcome="time", role="connection"),
        Row(outcome="rate", role="connection"),
        Row(outcome="time", role="statement"),
    )
    told = Told(title="A topic", rows=(time, rate, other))
    assert told.of() == (time, rate, other)
    assert told.of("time") == (time, other)
    assert told.of("time", "rate", role="connection") == (time, rate)
    assert told.of(role="statement") == (other,)
    assert told.of("rate", role="statement") == ()


def test_a_row_is_found_with_or_without_what_its_outcome_is_of() -> None:
    assert ROWS.row("time") is ROWS.row("connection: time") is TIME
    assert ROWS.row("share") is PLAIN
    assert ROWS.row("connection") is None
    nested = Row(outcome="storm: connection: time")
    assert RowSet([nested]).row("time") is nested


def test_of_several_rows_of_an_outcome_the_unit_decides() -> None:
    assert ROWS.row("time", "ms") is TIME
    assert ROWS.row("time", "round trips") is TRIPS
    assert ROWS.row("time", "1") is None


def test_an_interval_is_that_of_the_row_where_it_has_one() -> None:
    assert ROWS.interval("time") == TIME.interval
    assert ROWS.interval("time", "round trips") is None
    assert ROWS.interval("rate") is None


def test_rows_of_a_case_stand_together_whatever_the_order_of_its_levels() -> None:
    first = Row(outcome="a", case={"tls": "1.3", "server": "mysql-9.7"})
    other = Row(outcome="a", case={"tls": "off", "server": "mysql-9.7"})
    again = Row(outcome="b", case={"server": "mysql-9.7", "tls": "1.3"})
    assert [own.rows for own in by_case([first, other, again])] == [[first, again], [other]]


def test_rows_of_a_label_stand_together_in_their_order() -> None:
    first, other, again = (Row(label=label, outcome=outcome) for label, outcome in ("ax", "bx", "ay"))
    assert list(by_label([first, other, again]).items()) == [("a", (first, again)), ("b", (other,))]


def test_a_row_without_values_has_amounts_of_nothing() -> None:
    row = Row(value=2.0, baseline_value=3.0)
    assert (row.amount, row.baseline_amount) == (2.0, 3.0)
    assert (Row().amount, Row().baseline_amount) == (0.0, 0.0)


def test_several_numbers_of_a_column_are_told_from_one() -> None:
    row = Row(more={"steps": (1, 16), "one": 7, "none": None})
    assert [row.numbers(column) for column in ("steps", "one", "none", "other")] == [(1, 16), (), (), ()]


def test_what_a_thing_must_have_is_known_or_refused() -> None:
    assert ROWS.known("share") == PLAIN.interval
    for outcome in ("other", "connection: time round trips"):
        with pytest.raises(KeyError):
            ROWS.known(outcome)
    with pytest.raises(KeyError):
        ROWS.known("connection: time", "round trips")
