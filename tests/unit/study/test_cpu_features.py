"""What a level of `cpu_features` hides is what OpenSSL's manual calls by that name, and no more."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tlstax.study.cpu_features import HIDDEN, OWN_FEATURES, VARIABLE, environment, still_there, words

# A processor of 2024, as OpenSSL 3.0 printed it, and what it printed with each level in its environment.
EVERYTHING = (0xFFFA3203078BFFFF, 0x405FC6F1BF07AB)
PRINTED = {
    OWN_FEATURES: EVERYTHING,
    "no-ifma": (0xFFFA3203078BFFFF, 0x405FC6F19F07AB),
    "no-aesni": (0xEDFA2201078BFFFF, 0x40588401940683),
}


def masked(level: str, capabilities: tuple[int, ...]) -> tuple[int, ...]:
    """What a library makes of the variable: the bits of each number behind "~" are cleared."""
    variable = environment(level).get(VARIABLE)
    if variable is None:
        return capabilities
    numbers = [int(word.removeprefix("~"), 16) for word in variable.split(":")]
    return tuple(seen & ~hidden for seen, hidden in zip(capabilities, numbers, strict=False))


def test_nothing_is_hidden_where_nothing_is_asked_for() -> None:
    assert environment(OWN_FEATURES) == {}
    assert still_there(OWN_FEATURES, EVERYTHING) == ()


@pytest.mark.parametrize("level", [level for level in HIDDEN if level != OWN_FEATURES])
def test_what_is_hidden_is_gone_and_was_there_before(level: str) -> None:
    assert still_there(level, masked(level, EVERYTHING)) == ()
    assert still_there(level, EVERYTHING)
    assert environment(level)[VARIABLE].count(":") == 4


def test_one_feature_is_missed_by_its_name() -> None:
    assert still_there("no-ifma", EVERYTHING) == ("AVX512IFMA",)
    left = (PRINTED["no-aesni"][0] | 1 << 57, PRINTED["no-aesni"][1])
    assert still_there("no-aesni", left) == ("AES",)


def test_ifma_is_one_bit_of_the_second_number() -> None:
    assert masked("no-ifma", EVERYTHING) == PRINTED["no-ifma"]


def test_each_level_hides_what_the_one_before_it_does() -> None:
    hidden = [set(names) for names in HIDDEN.values()]
    assert all(less < more for less, more in pairwise(hidden))


def test_levels_have_words() -> None:
    assert words("no-avx512") == "without AVX-512 and what came later"
    assert len({words(level) for level in HIDDEN}) == len(HIDDEN)
