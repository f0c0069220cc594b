"""What drivers of PostgreSQL are told: nothing twice, and files where they are needed."""

from __future__ import annotations

import pytest

from tlstax.study.driver_catalogue import speaking
from tlstax.tools.probes.postgres_drivers.words import AUTHORITIES, NOTHING_SAID, Word, words_of


@pytest.mark.parametrize("name", speaking("postgresql"))
def test_each_driver_is_told_nothing_first_and_nothing_twice(name: str) -> None:
    words = words_of(name)
    assert words[0] == NOTHING_SAID
    meanings = [word.meaning for word in words]
    assert len(set(meanings)) == len(meanings)
    assert {"disable", "require", "verify-ca", "verify-full"} <= set(meanings)
    assert all(word.written and AUTHORITIES not in word.written for word in words)


def test_the_newer_words_are_for_a_newer_libpq() -> None:
    old, new = ({word.meaning for word in words_of(name)} for name in ("libpq-15", "libpq-18"))
    assert new - old == {"direct", "system", "scram"}
    assert "bound" in old


def test_a_word_that_verifies_names_the_file_of_authorities() -> None:
    strict = next(word for word in words_of("pgx-5") if word.meaning == "verify-full")
    assert strict.own_options("/ca.pem") == {"sslmode": "verify-full", "sslrootcert": "/ca.pem"}
    assert strict.tls("/ca.pem")["mode"] == "unset"


def test_one_that_is_no_word_of_the_drivers_is_told_as_tls() -> None:
    for verify, file in (("none", None), ("ca", "/ca.pem"), ("identity", "/ca.pem")):
        told = Word("require", "ssl", "on", verify).tls("/ca.pem")  # type: ignore[arg-type]
        assert (told["mode"], told["verify"], told["ca_file"]) == ("on", verify, file)
        assert told["trusted_ca_file"] is None
    assert Word("disable", "ssl", "off").tls("/ca.pem")["trusted_ca_file"] == "/ca.pem"


@pytest.mark.parametrize("library", ["", "native-tls-", "openssl-"])
def test_what_tokio_postgres_verifies_is_told_to_a_library_beside_its_own_words(library: str) -> None:
    words = {word.meaning: word for word in words_of(f"tokio-postgres-{library}0.7")}
    assert dict(words["prefer"].options) == {"sslmode": "prefer"}
    told = {meaning: (word.mode, word.verify) for meaning, word in words.items() if word.mode == "on"}
    assert told == {
        "require": ("on", "none"),
        "verify-ca": ("on", "ca"),
        "verify-full": ("on", "identity"),
        "direct": ("on", "identity"),
        "bound": ("on", "none"),
    }
    assert words["direct"].direct
    assert "allow" not in words


def test_sqlx_has_libpqs_six_words_and_no_others() -> None:
    meanings = [word.meaning for word in words_of("sqlx-postgres-0.8")]
    assert meanings[1:] == ["disable", "allow", "prefer", "require", "verify-ca", "verify-full", "system"]
