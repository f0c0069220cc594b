"""The page: what it says, that it is whole in itself, that nothing of a server becomes part of it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from report_runs import (
    EVERY_RUN,
    Make,
    all_invalid,
    exact_run,
    guest,
    hostile,
    many_levels,
    noisy_run,
    one_block,
    one_case_lost,
    page_of,
    with_document,
)
from tlstax.study import parse_study, study_toml
from tlstax.topics.answer.headline import headline
from tlstax.topics.core.figures import quantity

VOID = {"meta", "link", "br"}
MOST_BYTES = 1_500_000


class Outline(HTMLParser):
    """The elements of a page, its visible text, and what is opened but not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    def text(self) -> str:
        """All words, with single spaces."""
        return " ".join(" ".join(self.words).replace("\N{NO-BREAK SPACE}", " ").split())


@pytest.mark.parametrize("make", EVERY_RUN.values(), ids=EVERY_RUN)
def test_it_is_well_formed_and_of_modest_size(make: Make) -> None:
    page = page_of(make)
    assert Outline(page).open == []
    assert len(page.encode()) < MOST_BYTES


@pytest.mark.parametrize("make", EVERY_RUN.values(), ids=EVERY_RUN)
def test_it_asks_for_nothing_from_elsewhere(make: Make) -> None:
    page = page_of(make)
    outline = Outline(page)
    assert not {"script", "iframe", "object", "embed", "img", "image", "use", "base", "form"} & set(
        outline.tags
    )
    for name, value in outline.attributes:
        assert not name.startswith("on")
        if name in {"href", "src", "xlink:href", "action"}:
            assert value == "data:,"
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page


@pytest.mark.parametrize("make", EVERY_RUN.values(), ids=EVERY_RUN)
def test_no_two_elements_have_one_name(make: Make) -> None:
    names = [value for name, value in Outline(page_of(make)).attributes if name == "id"]
    assert len(names) == len(set(names))


def test_it_answers_the_question_at_the_top() -> None:
    stored, document = with_document(exact_run)
    text = Outline(page_of(exact_run)).text()
    places = [text.index(stored.header.study.question)]
    places += [text.index(sentence[1:]) for sentence in headline(document)]
    assert places == sorted(places)
    assert places[-1] < text.index("Against plaintext")


def test_the_planted_figures_are_in_cards_and_tables() -> None:
    text = Outline(page_of(exact_run)).text()
    assert "TLS 1.3 ÷4.90 1,020/s instead of 5,000/s 95 % interval [4.90 … 4.90]" in text
    assert "26,000 −7.1 % [−7.1 … −7.1]" in text
    assert "1,450 ×7.63 [7.63 … 7.63]" in text


def test_a_chart_tells_each_figure_to_who_points_at_it() -> None:
    page = page_of(exact_run)
    _, document = with_document(exact_run)
    slowest_us = max(found.value for found in document.findings if found.outcome == "latency_p99_us")
    assert (
        "<title>TLS 1.3: operations a second 1,020/s instead of 5,000/s, ÷4.90 [4.90 … 4.90]</title>" in page
    )
    assert re.search(r"<title>TLS 1\.3: TLS handshake 6\.\d\d ms, 7\d % of an operation</title>", page)
    assert f"<title>TLS 1.3: 99 % took at most {quantity(slowest_us, 'us')}</title>" in page
    assert "<title>TLS 1.3: server user 1.09 ms per operation</title>" in page
    assert "<title>TLS 1.3, block 8: 0.204×</title>" in page


def test_a_level_has_one_colour_and_shape_in_all_groups() -> None:
    page = page_of(noisy_run)
    signs = re.findall(r'<path d="([^"]+)"\s+fill="([^"]+)"/></svg>\s*(TLS 1\.\d(?: resumed)?)', page)
    assert len(signs) > 10
    assert len(set(signs)) == len({label for _, _, label in signs}) == 3


def test_it_shows_what_both_sides_proved() -> None:
    text = Outline(page_of(noisy_run)).text()
    assert "TLSv1.3 TLS_AES_128_GCM_SHA256 secp256r1 hello retried" in text
    assert re.search(r"TLS 1\.3 resumed 7 of 8 .* (\S+) of \1 client \1, server \1", text)
    assert "RSA 2048" in text
    assert "/usr/lib/x86_64-linux-gnu/libssl.so.3 sha256 " + "5f" * 32 in text


def test_trials_that_were_not_used_are_told_with_their_reasons() -> None:
    text = Outline(page_of(noisy_run)).text()
    assert text.count("the server died of signal 9") >= 2
    assert "78 valid, 2 invalid, 0 unknown" in text
    assert "Every trial in the order in which it ran (80)" in text


def test_the_study_on_the_page_is_the_study_that_ran() -> None:
    stored, _ = with_document(exact_run)
    assert parse_study(study_toml(stored.header.study), where="the page") == stored.header.study


@pytest.mark.parametrize("make", [hostile], ids=["hostile"])
def test_nothing_that_a_server_says_becomes_part_of_the_page(make: Make) -> None:
    page = page_of(make)
    assert "<script" not in page
    assert "&lt;script&gt;alert" in page
    assert "\x1b" not in page
    assert "\u202e" not in page


@pytest.mark.parametrize(
    ("make", "there", "absent"),
    [
        (guest, ["The server’s was out of reach", "Client CPU per operation"], ["Server CPU per operation"]),
        (one_block, ["One block alone shows no scatter"], ["Block after block", "interval ["]),
        (all_invalid, ["Nothing to show, because none of 20 trials was valid"], ["Against plaintext"]),
        (one_case_lost, ["no valid trial: the server died of signal 9", "Against plaintext"], []),
        (many_levels, ["64 connections", "TLS as the client chooses resumed"], []),
    ],
)
def test_odd_runs_are_shown_with_words_for_what_is_missing(
    make: Make, there: list[str], absent: list[str]
) -> None:
    text = Outline(page_of(make)).text()
    for words in there:
        assert words in text
    for words in absent:
        assert words not in text
