"""What servers' error numbers mean: each number one thing, said without a gap, with advice."""

from __future__ import annotations

import re

import pytest

from tlstax.checks.server_errors import SERVER_ERRORS, ServerError, meaning_of, sqlstate_number
from tlstax.support.errors import MachineFault, UserMistake

NAMES = dict.fromkeys(("where", "user", "schema", "said", "variable", "certificate", "plain"), "X")


def test_no_number_means_two_things() -> None:
    codes = [code for known in SERVER_ERRORS for code in known.codes]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("known", SERVER_ERRORS, ids=lambda known: str(known.codes[0]))
def test_each_has_a_sentence_and_advice(known: ServerError) -> None:
    for text in (known.message, known.remedy):
        assert re.search("[a-z]{2}", text.format_map(NAMES))
    assert "{" not in known.in_trials.format_map(NAMES)
    # What the server itself says is left out only where the sentence says all of it.
    assert "{where}" in known.message or known.codes == (1044,)


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        *((code, UserMistake) for code in (1203, 1226, 1227, 1290, 1792, 1820, 1862, 3118, 3159, 4031)),
        *((code, MachineFault) for code in (1040, 1053, 1129)),
    ],
)
def test_what_can_be_changed_there_is_the_users(code: int, fault: type) -> None:
    known = meaning_of(code)
    assert known is not None
    assert known.fault is fault


@pytest.mark.parametrize(
    ("state", "fault", "words"),
    [
        ("28P01", UserMistake, "pg_hba.conf"),
        ("28000", UserMistake, "pg_hba.conf"),
        ("3D000", UserMistake, "create it"),
        ("42501", UserMistake, "grant it CREATE"),
        ("53300", MachineFault, "raise max_connections"),
        ("57P03", MachineFault, "check the server's log"),
    ],
)
def test_a_sqlstate_is_known_by_its_letters_and_as_clients_report_it(
    state: str, fault: type, words: str
) -> None:
    known = meaning_of(state)
    assert known is not None
    assert known is meaning_of(int(state, 36))
    assert (known.fault, words in known.remedy) == (fault, True)


def test_no_sqlstate_is_one_of_mysqls_numbers() -> None:
    codes = [code for known in SERVER_ERRORS for code in known.codes]
    states = {sqlstate_number(code) for code in codes if isinstance(code, str)}
    assert not states & {code for code in codes if isinstance(code, int)}
    assert meaning_of("00000") is meaning_of("42P01") is None


def test_a_number_that_is_not_listed_means_nothing() -> None:
    assert meaning_of(9999) is meaning_of(None) is None
