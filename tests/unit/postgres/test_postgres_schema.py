"""A schema of an external PostgreSQL: every name is quoted and said with it, and what others need is kept."""

from __future__ import annotations

import pytest

from answering_database import AnsweringDatabase
from tlstax.postgres import schema
from tlstax.postgres.ownership_table import OwnershipTable
from tlstax.sql.database import SqlError
from tlstax.sql.ownership import Entry, Thing
from tlstax.support.errors import UserMistake

MINE = Thing("TABLE", "mine")


@pytest.mark.parametrize("name", ["Shop", "my shop", "pg_toast", "a" * 64, 'a"b', "café"])
def test_a_schema_whose_name_needs_quotes_is_refused(name: str) -> None:
    server = AnsweringDatabase({"quote_ident": [(name,)], "pg_namespace": [(1,)]})
    with pytest.raises(UserMistake, match="works in no schema of the name"):
        schema.own_name(server, name)


def test_a_reserved_word_and_a_schema_that_is_not_there_are_refused() -> None:
    with pytest.raises(UserMistake, match="works in no schema"):
        schema.own_name(AnsweringDatabase({"quote_ident": [('"user"',)]}), "user")
    with pytest.raises(UserMistake, match="there is no schema shop"):
        schema.own_name(AnsweringDatabase({"quote_ident": [("shop",)]}), "shop")


def test_a_schema_and_its_comment_are_made_in_one_message() -> None:
    server = AnsweringDatabase()
    assert schema.create(server, "tlstax", "words")
    assert server.statements == ['CREATE SCHEMA "tlstax"; COMMENT ON SCHEMA "tlstax" IS words']
    there = AnsweringDatabase({"CREATE": SqlError("42P06", "schema already exists")})
    assert not schema.create(there, "tlstax", "words")
    with pytest.raises(SqlError, match="denied"):
        schema.create(AnsweringDatabase({"CREATE": SqlError("42501", "permission denied")}), "s", "words")


def test_only_a_table_of_the_name_has_a_sign() -> None:
    assert schema.sign(AnsweringDatabase({"relkind": [("r", "a sign")]}), "s", MINE) == "a sign"
    assert schema.sign(AnsweringDatabase({"relkind": [("v", "a sign")]}), "s", MINE) == ""
    assert schema.sign(AnsweringDatabase(), "s", MINE) is None


def test_what_others_depend_on_stays() -> None:
    held = AnsweringDatabase({"DROP": SqlError("2BP01", "other objects depend on it")})
    assert not schema.drop_object(held, "s", MINE)
    assert held.statements == ['DROP TABLE IF EXISTS "s"."mine"']
    with pytest.raises(SqlError, match="denied"):
        schema.drop_object(AnsweringDatabase({"DROP": SqlError("42501", "denied")}), "s", MINE)


def test_what_is_pasted_drops_tables_that_refer_to_each_other() -> None:
    things = [MINE, Thing("TABLE", 'a"b')]
    pasted = schema.object_drop_statements(AnsweringDatabase(), "s", things)
    assert pasted == ['DROP TABLE "s"."a""b", "s"."mine";']
    assert schema.object_drop_statements(AnsweringDatabase(), "s", []) == []


def test_ties_between_tables_of_ours_alone_are_undone() -> None:
    server = AnsweringDatabase({"pg_constraint": [("mine", "k", "own"), ("theirs", "k", "mine")]})
    assert schema.untie(server, "s", [MINE, Thing("TABLE", "own")])
    assert [said for said in server.statements if said.startswith("ALTER")] == [
        'ALTER TABLE "s"."mine" DROP CONSTRAINT "k"'
    ]


@pytest.mark.parametrize(
    ("row", "type_"),
    [
        (("r", "false", "false", "HEAP"), "BASE TABLE"),
        (("r", "true", "false", "HEAP"), "TABLE WITH POLICIES OR HEIRS"),
        (("r", "false", "true", "HEAP"), "TABLE WITH POLICIES OR HEIRS"),
        (("f", "false", "false", "HEAP"), "FOREIGN TABLE"),
        (("?", "false", "false", "HEAP"), "OBJECT"),
    ],
)
def test_only_a_plain_table_is_a_base_table(row: tuple[str, ...], type_: str) -> None:
    found = schema.named_tables(AnsweringDatabase({"relrowsecurity": [("t", *row)]}), "s", ["t"])
    assert {name: named.type for name, named in found.items()} == {"t": type_}
    assert schema.named_tables(AnsweringDatabase(), "s", []) == {}


def test_the_record_is_made_with_its_comment_and_read_as_it_was_written() -> None:
    server = AnsweringDatabase(
        {"SELECT step": [("made", "TABLE", "mine", "a sign", "a proof"), ("run", "", "", None, "p")]}
    )
    assert OwnershipTable("s").create(server, "words")
    assert server.statements[0].startswith('CREATE TABLE "s".tlstax_made (')
    assert server.statements[0].endswith('; COMMENT ON TABLE "s".tlstax_made IS words')
    assert OwnershipTable("s").entries(server) == [
        Entry("made", "TABLE", "mine", "a sign", "a proof"),
        Entry("run", "", "", "", "p"),
    ]
    taken = AnsweringDatabase({"CREATE": SqlError("42P07", "already exists")})
    assert not OwnershipTable("s").create(taken, "words")


def test_a_record_that_is_gone_or_anothers_says_so() -> None:
    for code in ("42P01", "3F000"):
        assert OwnershipTable("s").has(AnsweringDatabase({"COUNT": SqlError(code, "none")}), "run") is None
    assert OwnershipTable("s").has(AnsweringDatabase({"COUNT": [(0,)]}), "run") is False
    assert OwnershipTable("s").claimed_things(AnsweringDatabase({"DISTINCT": SqlError("42703", "x")})) == []
    lost = SqlError("08006", "gone", is_of_connection=True)
    with pytest.raises(SqlError, match="gone"):
        OwnershipTable("s").claimed_things(AnsweringDatabase({"DISTINCT": lost}))
