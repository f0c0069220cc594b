"""Whatever stands in a study's or a workload's file, it is one, or a mistake in one sentence."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tlstax.plan.order import plan
from tlstax.study import parse_study, study_toml
from tlstax.study.files import parse_workload
from tlstax.study.workloads.user_defined import as_workload
from tlstax.support.errors import UserMistake

ROOT = Path(__file__).parents[3]
STUDY = (ROOT / "lab" / "tlstax" / "studies" / "tax.toml").read_text(encoding="utf-8")
WORKLOAD = (ROOT / "docs" / "orders.toml").read_text(encoding="utf-8")

VALUES = (
    *("", " ", "=", "[", "]", "[[", "{", "}", '"', "'", '"""', "\n", ".", ",", "\0", "\x1b[2J", "²", "-"),
    *("0", "-1", "1", "1.5", "nan", "-inf", "1e308", "true", "[]", "{}", "[1, 2]", '"x"', '"rows"', "{id}"),
    *("1979-05-27", "9" * 30, "9" * 5000, "0x" + "f" * 5000, "[" * 3000, '"\\u0000"', '"off"', '"1.3"'),
)

Change = tuple[float, int, str]
"""Where in a text, how many characters are taken out there, and what is put in."""

changes = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(VALUES) | st.text(max_size=5)),
    min_size=1,
    max_size=4,
)


def changed(text: str, made: list[Change]) -> str:
    for where, taken, put in made:
        at = round(where * len(text))
        text = text[:at] + put + text[at + taken :]
    return text


@settings(deadline=None)
@given(made=changes)
def test_a_study_or_a_mistake(made: list[Change]) -> None:
    with suppress(UserMistake):
        study = parse_study(changed(STUDY, made), where="my.toml")
        plan(study)
        assert parse_study(study_toml(study), where="shown") == study


@settings(deadline=None)
@given(made=changes)
def test_a_workload_or_a_mistake(made: list[Change]) -> None:
    with suppress(UserMistake):
        as_workload(parse_workload(changed(WORKLOAD, made), where="my.toml"), "t", 1000)


@pytest.mark.parametrize("text", ["", "\0", "[" * 100_000, "a = " + "[" * 100_000])
def test_what_is_nothing_is_a_mistake(text: str) -> None:
    for parse in (parse_study, parse_workload):
        with pytest.raises(UserMistake) as caught:
            parse(text, where="my.toml")
        assert "\n" not in caught.value.sentence()
