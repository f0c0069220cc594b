"""What documents show of the default run is one run: the README's screen, the study's page, the picture."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

import renew_figures as shown
from fake_trials import fake_run, whole_tax
from tlstax.plan.order import plan
from tlstax.records.trial import StoredRun
from tlstax.study import load_study
from tlstax.support.errors import UserMistake

ROOT = Path(__file__).parents[3]
DOCUMENTS = (shown.README, shown.PAGE)
LINES = 40
RUN = re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{4}\b")
TAKES = re.compile(r"^    \./tlstax study run (\S+) .*\((\d+) min\)", re.MULTILINE)


@cache
def stored() -> StoredRun:
    return shown.from_pack(shown.PACK.read_bytes())


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.name)
def test_a_document_shows_the_run_that_is_kept_beside_it(page: Path) -> None:
    """As it is printed now: after a change of that, `setup/renew-figures docs/tax.tlstax` shows it anew."""
    assert shown.block_of(page) == shown.texts(stored())[page]
    assert set(RUN.findall(page.read_text(encoding="utf-8"))) == {stored().header.run}


def test_the_picture_is_of_the_same_run_and_has_its_figures() -> None:
    texts = shown.texts_in(shown.PICTURE.read_bytes())
    assert texts[shown.RUN] == stored().header.run
    numbers = re.compile(r"[\d.]+")
    assert numbers.findall(texts[shown.ANSWER]) == numbers.findall("\n".join(shown.answer(stored())))


def test_the_run_is_a_default_one_and_its_machine_is_named() -> None:
    shown.check_default(stored())
    assert stored().header.machine.cpu_model
    for page in DOCUMENTS:
        assert f"Machine  {stored().header.machine.cpu_model}, " in shown.block_of(page)


def test_the_readme_shows_what_fits_a_screen() -> None:
    assert len(shown.block_of(shown.README).splitlines()) <= LINES


def test_another_run_is_not_taken() -> None:
    with pytest.raises(UserMistake, match="not the default one"):
        shown.check_default(fake_run(whole_tax()))
    default = fake_run(load_study("tax"))
    shown.check_default(default)
    with pytest.raises(UserMistake, match="is interrupted"):
        shown.check_default(default.model_copy(update={"status": "interrupted"}))


def test_texts_in_a_picture_can_be_read_again() -> None:
    picture = shown.PICTURE.read_bytes()
    said = {**shown.texts_in(picture), "more": "÷4.78 [4.71 … 4.85]"}
    assert shown.texts_in(shown.with_texts(picture, {"more": said["more"]})) == said


def test_a_document_without_a_place_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```\nnothing\n```\n", encoding="utf-8")
    with pytest.raises(UserMistake, match="0 places"):
        shown.replaced(page, "text")


def test_how_long_a_recipe_takes_is_what_its_plan_says() -> None:
    said = TAKES.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert said
    for name, minutes in said:
        assert abs(plan(load_study(name)).estimated_s / 60 - int(minutes)) < 1, name
