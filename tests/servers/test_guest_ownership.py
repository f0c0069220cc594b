"""What is ours at somebody else's server, and what only looks so: nobody's word makes us drop anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymysql
import pytest
from guest_house import OURS, House, opened_external
from test_guest_killed import killed, killed_within
from test_guest_run import PASSWORD, url_of
from test_guest_server import SMALL, as_owner

from tlstax.external import access as external_access
from tlstax.external.access import AccessOptions, ExternalAccess
from tlstax.external.server import ExternalServer
from tlstax.mysql import schema, server_facts
from tlstax.mysql import session as sessions
from tlstax.mysql.database import MySqlDatabase
from tlstax.mysql.ownership_table import OwnershipTable
from tlstax.mysql.session import NamedLock, SchemaLock
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.sessions import Session
from tlstax.sql.database import Database, SqlError
from tlstax.sql.facts import Identity
from tlstax.support.errors import Interrupted, MachineFault, UserMistake

LOOKS_OURS = "tlstax load table, in a schema that tlstax created"
RECORD = "CREATE TABLE {schema}.tlstax_made (id INT, run CHAR(32), step VARCHAR(8), kind VARCHAR(16), \
name VARCHAR(64), sign VARCHAR(128)) COMMENT 'tlstax load table'"


def own(house: House) -> ExternalAccess:
    """The way in without a schema: tlstax makes one of its own."""
    house.owner("GRANT ALL ON tlstax.* TO ann@'127.0.0.1'")
    return replace(house.access, address=replace(house.access.address, schema=None))


def is_mariadb(house: House) -> bool:
    return "MariaDB" in house.server.version


def as_ann(house: House) -> MySqlDatabase:
    """A connection of hers that tlstax has not made."""
    port = house.server.endpoint().port
    return MySqlDatabase(
        pymysql.connect(
            host="127.0.0.1",
            port=port,
            user="ann",
            password=PASSWORD,
            autocommit=True,
            ssl_disabled=True,
        )
    )


def pasted(error: UserMistake | str) -> list[str]:
    """The statements for pasting at the end of what is said."""
    text = error if isinstance(error, str) else error.remedy
    return re.findall(r"(?:DROP|ALTER) .*?;(?= |$)", text)


def put_in(house: House, monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    """From here on `killed` runs on a machine that keeps its data elsewhere."""
    monkeypatch.setenv("TLSTAX_DATA", str(data))
    assert house.things() == set()


@pytest.fixture(params=[pytest.param("mysql_build", marks=pytest.mark.long), "mariadb_build"])
def folding(request: pytest.FixtureRequest, session: Session) -> Iterator[PrivateServer]:
    """A server for which names of schemas and tables have no case."""
    # As its configuration: MySQL has to know it when it makes its system tables.
    settings = replace(SMALL, configuration=("--lower-case-table-names=1",))
    password = pymysql.converters.escape_item(PASSWORD, "utf8")
    with PrivateServer.start(request.getfixturevalue(request.param), session, settings) as server:
        as_owner(
            server,
            "CREATE DATABASE lent",
            f"CREATE USER ann@'127.0.0.1' IDENTIFIED BY {password}",
            "GRANT ALL ON lent.* TO ann@'127.0.0.1'",
        )
        yield server


def test_a_schema_has_one_lock_however_it_is_spelled(folding: PrivateServer) -> None:
    lower = external_access.settle(AccessOptions(url_of(folding)), ask=lambda _: PASSWORD)
    upper = replace(lower, address=replace(lower.address, schema="LENT"))
    with opened_external(upper) as (guest, said, warned):
        with pytest.raises(UserMistake, match="another tlstax is at work in the schema lent"):
            ExternalServer.open(lower)
        said("CREATE TABLE Shop (id INT)", "CREATE VIEW Seen AS SELECT * FROM SHOP")
        guest.hold()
    assert as_owner(folding, "SHOW TABLES FROM lent") == ()
    assert warned == []


def test_a_schema_whose_name_differs_in_case_alone_keeps_its_events(house: House) -> None:
    """MariaDB drops them with the other one."""
    house.owner("CREATE DATABASE TLSTAX", "GRANT SELECT ON TLSTAX.* TO ann@'127.0.0.1'")
    house.owner("CREATE EVENT TLSTAX.e ON SCHEDULE EVERY 1 DAY DO SELECT 1")
    try:
        with opened_external(own(house)) as (_, _, warned):
            pass
        assert house.owner("SELECT EVENT_NAME FROM information_schema.EVENTS") == (("e",),)
        assert ["takes events of TLSTAX along" in words for words in warned] == [True]
    finally:
        house.owner("DROP DATABASE TLSTAX")


@pytest.fixture
def on_another_node(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on, we are on another node of the cluster: it has locks and a name of its own."""

    def move() -> None:
        init = SchemaLock.__init__
        identity = server_facts.identity

        def elsewhere(lock: SchemaLock, schema: str) -> None:
            init(lock, schema)
            lock._name += "-there"

        def of_the_other(database: Database) -> Identity:
            return Identity("the other", identity(database).data)

        monkeypatch.setattr(SchemaLock, "__init__", elsewhere)
        monkeypatch.setattr(server_facts, "identity", of_the_other)

    return move


def test_one_tlstax_at_a_time_works_in_a_schema_of_a_cluster(
    house: House, on_another_node: Callable[[], None]
) -> None:
    with opened_external(house.access) as (_, said, warned):
        said("CREATE TABLE shop_orders (id INT)")
        on_another_node()
        with pytest.raises(UserMistake, match=r"another tlstax is at work .* on another node") as refused:
            ExternalServer.open(house.access)
        assert "(15 min if it was killed)" in refused.value.remedy
        assert house.things() == {*OURS, "shop_orders"}
    assert (house.things(), warned) == (set(), [])


@pytest.mark.parametrize(
    "until",
    ["UTC_TIMESTAMP() - INTERVAL 1 SECOND", pytest.param("'9999-12-31'", marks=pytest.mark.long)],
)
def test_a_run_that_was_killed_on_another_node_does_not_keep_others_out_for_ever(
    house: House, on_another_node: Callable[[], None], until: str
) -> None:
    """Nor does a row that nobody of ours can have written."""
    with opened_external(house.access) as (first, said, _):
        said("CREATE TABLE shop_orders (id INT)")
        house.owner(f"UPDATE lent.tlstax_made SET until_utc = {until}")  # noqa: S608
        on_another_node()
        with opened_external(house.access) as (second, _, warned):
            second.hold()
            assert (house.things(), warned) == (OURS, [])
            with pytest.raises(MachineFault, match="another tlstax has used the schema since"):
                first.hold()
            first.stop()
            second.hold()
    assert house.things() == set()


def test_a_schema_of_ours_is_kept_for_whatever_else_is_in_it(house: House) -> None:
    mysqls = ["CREATE LIBRARY tlstax.theirs LANGUAGE JAVASCRIPT AS 'export function f() {return 1}'"]
    mariadbs = [
        "CREATE SEQUENCE tlstax.theirs",
        "SET sql_mode = ORACLE; CREATE PACKAGE tlstax.theirs AS PROCEDURE p(); END",
    ]
    for put in mariadbs if is_mariadb(house) else mysqls:
        with opened_external(own(house)) as (_, _, warned):
            house.owner(*put.split("; C", 1)[:1], *(f"C{rest}" for rest in put.split("; C", 1)[1:]))
        assert "tlstax" in house.schemas(), put
        assert ["stays there, because" in words and "theirs" in words for words in warned] == [True]
        (line,) = pasted(warned[0])
        house.owner(line)
        assert "tlstax" not in house.schemas()


def test_a_schema_of_ours_is_kept_at_a_server_with_kinds_of_objects_that_we_do_not_know(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "_DESCRIBING", schema._DESCRIBING - {"PARTITIONS"})
    with opened_external(own(house)) as (_, _, warned):
        pass
    assert "tlstax" in house.schemas()
    assert ["does not know what this server keeps in PARTITIONS" in words for words in warned] == [True]


def test_a_row_of_somebody_elses_drops_nothing(house: House) -> None:
    """Neither in a table that only has our name, nor in one that we have made."""
    house.eve(
        "CREATE TABLE orders (id INT) COMMENT 'shop'",
        RECORD.format(schema="lent"),
        "INSERT INTO tlstax_made VALUES (1, '', 'made', 'TABLE', 'orders', 'shop')",
    )
    with pytest.raises(UserMistake, match="seems to have left the table tlstax_made in lent") as refused:
        ExternalServer.open(house.access)
    assert pasted(refused.value) == ["DROP TABLE `lent`.`tlstax_made`;"]
    assert house.things() == {"orders", "tlstax_made"}
    house.eve(*pasted(refused.value))
    killed(house, "CREATE VIEW v AS SELECT 1 AS one")
    house.eve(
        "INSERT INTO tlstax_made SELECT id + 100, run, step, 'TABLE', 'orders', 'shop', proof, node,"
        " until_utc FROM tlstax_made"
    )
    with opened_external(house.access) as (_, _, warned):
        assert house.things() == {*OURS, "orders"}
    assert (house.things(), warned) == ({"orders"}, [])


@pytest.mark.parametrize(
    "comment",
    [
        *(
            pytest.param(said, marks=pytest.mark.long)
            for said in ("not yours", "tlstax is what I read about")
        ),
        LOOKS_OURS,
    ],
)
def test_a_table_of_somebody_elses_is_not_touched_whatever_it_is_called(house: House, comment: str) -> None:
    for name in ("tlstax_made", "tlstax_words", "tlstax_words_kept"):
        house.eve(f"CREATE TABLE {name} (mine INT) COMMENT '{comment}'")
        with pytest.raises(UserMistake, match=f"{name}"):
            ExternalServer.open(house.access)
        assert house.things() == {name}
        house.eve(f"DROP TABLE {name}")


def test_a_table_that_appears_under_a_name_of_ours_is_left(house: House) -> None:
    with opened_external(house.access) as (guest, _, warned), closing(guest.admin()) as database:
        house.eve(f"CREATE TABLE tlstax_words (mine INT) COMMENT '{LOOKS_OURS}'")
        house.eve(f"CREATE TABLE tlstax_sbtest1_kept (mine INT) COMMENT '{LOOKS_OURS}'")
        with pytest.raises(UserMistake, match="a table tlstax_sbtest1_kept that tlstax did not make"):
            guest.keep_copy(database, "sbtest")
    assert house.things() == {"tlstax_words", "tlstax_sbtest1_kept"}
    assert ["tlstax_sbtest1_kept in lent is no longer as tlstax made it" in words for words in warned] == [
        True
    ]


def test_a_table_in_the_place_of_a_load_table_is_not_emptied(house: House) -> None:
    with opened_external(house.access) as (guest, _, _):
        house.eve(
            "DROP TABLE tlstax_sbtest1", "CREATE TABLE tlstax_sbtest1 (mine INT) COMMENT 'tlstax load table'"
        )
        with pytest.raises(
            MachineFault, match="another has put a table of its own in the place of tlstax_sbtest1"
        ):
            guest.hold()
    assert house.things() == {"tlstax_sbtest1"}


def test_a_record_that_another_has_dropped_ends_the_run_and_all_is_left_in_order(house: House) -> None:
    with opened_external(house.access) as (guest, said, warned):
        said("CREATE TABLE shop_orders (id INT)", "CREATE VIEW v AS SELECT 1 AS one")
        house.eve("DROP TABLE tlstax_made")
        with pytest.raises(MachineFault, match="another has dropped tlstax_made in lent"):
            guest.hold()
    assert (house.things(), warned) == (set(), [])


def test_what_was_restored_into_another_schema_is_not_taken_for_ours(house: House) -> None:
    killed(house, "CREATE TABLE shop_orders (id INT)", "CREATE VIEW v AS SELECT 1 AS one")
    house.owner("DROP DATABASE IF EXISTS restored", "CREATE DATABASE restored")
    try:
        for name in ("tlstax_made", "tlstax_sbtest1", "shop_orders"):
            house.owner(f"CREATE TABLE restored.{name} LIKE lent.{name}")
        house.owner("INSERT INTO restored.tlstax_made SELECT * FROM lent.tlstax_made")
        house.owner("CREATE VIEW restored.v AS SELECT 1 AS one", "GRANT ALL ON restored.* TO ann@'127.0.0.1'")
        there = replace(house.access, address=replace(house.access.address, schema="restored"))
        with pytest.raises(UserMistake, match="drops only its own"):
            ExternalServer.open(there)
        assert house.things("restored") == {*OURS, "shop_orders", "v"}
    finally:
        house.owner("DROP DATABASE restored")


def test_what_another_machine_left_is_named_with_lines_that_drop_it(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        put_in(house, elsewhere, tmp_path)
        killed(
            house,
            "CREATE TABLE parent (id INT PRIMARY KEY, f INT)",
            "CREATE TABLE child (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES parent (id))",
            "CREATE TABLE a (id INT PRIMARY KEY, f INT)",
            "CREATE TABLE b (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES a (id))",
            "ALTER TABLE a ADD FOREIGN KEY (f) REFERENCES b (id)",
            "CREATE VIEW `v``w` AS SELECT * FROM parent",
            "CREATE TRIGGER g BEFORE INSERT ON parent FOR EACH ROW SET @x = 1",
            "CREATE PROCEDURE p() SELECT 1",
        )
    before = house.things()
    with pytest.raises(UserMistake, match=r"another machine seems to have left the .* this one") as refused:
        ExternalServer.open(house.access)
    assert house.things() == before == {*OURS, "parent", "child", "a", "b", "v`w", "g", "p"}
    with closing(as_ann(house)) as ann:
        for line in pasted(refused.value):
            ann.rows(line)
    assert house.things() == set()
    with opened_external(house.access):
        pass


def test_a_schema_is_not_dropped_on_the_word_of_a_comment(house: House) -> None:
    access = own(house)
    house.owner(
        "CREATE DATABASE tlstax", f"CREATE TABLE tlstax.tlstax_sbtest1 (id INT) COMMENT '{LOOKS_OURS}'"
    )
    with pytest.raises(UserMistake, match="seems to have left the table tlstax_sbtest1") as refused:
        ExternalServer.open(access)
    assert house.things("tlstax") == {"tlstax_sbtest1"}
    house.owner(*pasted(refused.value))
    assert "tlstax" not in house.schemas()
    house.owner("CREATE DATABASE tlstax")
    with opened_external(access) as (_, _, warned):
        pass
    assert "tlstax" in house.schemas()
    assert warned == []
    house.owner("CREATE VIEW tlstax.theirs AS SELECT 1 AS one")
    house.owner(f"CREATE TABLE tlstax.tlstax_made (id INT) COMMENT '{LOOKS_OURS}'")
    with pytest.raises(UserMistake) as refused:
        ExternalServer.open(access)
    assert pasted(refused.value) == ["DROP TABLE `tlstax`.`tlstax_made`;"]


@pytest.mark.parametrize(
    "granted",
    [
        "EVENT, EXECUTE ON TLSTAX.* TO bob@'127.0.0.1'",
        pytest.param("EVENT, EXECUTE ON tlstax.* TO BOB@'127.0.0.1'", marks=pytest.mark.long),
    ],
)
def test_rights_of_another_account_or_schema_do_not_show_what_is_in_ones_own(
    house: House, granted: str
) -> None:
    """Their names differ in the case of letters alone."""
    accounts = ("bob@'127.0.0.1'", "BOB@'127.0.0.1'")
    house.owner(*(f"CREATE USER {account} IDENTIFIED BY '{PASSWORD}'" for account in accounts))
    rights = "CREATE, DROP, INDEX, INSERT, SELECT ON tlstax.*"
    # Who sees the rights of all accounts is shown BOB's.
    house.owner(f"GRANT {rights} TO bob@'127.0.0.1'", "GRANT SELECT ON mysql.* TO bob@'127.0.0.1'")
    house.owner(f"GRANT {granted}")
    try:
        with opened_external(replace(own(house), user="bob")) as (_, _, warned):
            house.owner("CREATE EVENT tlstax.unseen ON SCHEDULE EVERY 1 DAY DO SELECT 1")
        assert house.things("tlstax") == {"unseen"}
        assert ["bob is not shown" in words for words in warned] == [True]
    finally:
        house.owner(*(f"DROP USER {account}" for account in accounts))


KILLED = """
import os, sys
from tlstax.external import access, given_password, made
from tlstax.external.access import AccessOptions
from tlstax.external.server import ExternalServer
from tlstax.mysql import schema
def die(*_):
    os.kill(os.getpid(), 9)
write = made.SchemaClaim.write
if sys.argv[2] == "before":
    schema.create = die
elif sys.argv[2] == "unclaimed":
    made.SchemaClaim.write = lambda claim, state: (die if state == "created" else write)(claim, state)
else:
    schema.use = die
ExternalServer.open(access.settle(AccessOptions(sys.argv[1], given_password=given_password.take())))
"""


def killed_at(house: House, when: str) -> ExternalAccess:
    access = own(house)
    url = url_of(house.server).rsplit("/", 1)[0]
    killed_within(house, KILLED, url, when)
    return access


def test_a_schema_that_a_killed_run_created_and_did_not_use_is_dropped(house: House) -> None:
    access = killed_at(house, "after")
    assert "tlstax" in house.schemas()
    with opened_external(access) as (_, _, warned):
        pass
    assert ("tlstax" in house.schemas(), warned) == (False, [])


def test_a_schema_is_dropped_although_its_creation_was_interrupted(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create_and_be_interrupted(database: Database, *_: object) -> None:
        create(database, "tlstax", None)
        database.close()
        raise Interrupted

    create = schema.create
    monkeypatch.setattr(schema, "create", create_and_be_interrupted)
    with pytest.raises(Interrupted):
        ExternalServer.open(own(house))
    assert "tlstax" not in house.schemas()


def test_a_schema_of_which_only_the_intent_is_known_is_dropped_where_it_has_a_sign_else_named(
    house: House,
) -> None:
    access = killed_at(house, "unclaimed")
    with opened_external(access) as (_, _, warned):
        pass
    if is_mariadb(house):
        assert ("tlstax" in house.schemas(), warned) == (False, [])
    else:
        assert ["may have created the schema tlstax" in words for words in warned] == [True]
        house.owner(*pasted(warned[0]))
        assert "tlstax" not in house.schemas()


@pytest.mark.parametrize(
    "put", [pytest.param("", marks=pytest.mark.long), "CREATE TABLE tlstax.theirs (id INT)"]
)
def test_a_schema_that_another_created_after_a_kill_is_left(house: House, put: str) -> None:
    access = killed_at(house, "before")
    assert "tlstax" not in house.schemas()
    house.owner("CREATE DATABASE tlstax", *([put] if put else []))
    with opened_external(access):
        pass
    assert "tlstax" in house.schemas()


def test_what_others_refer_to_is_left_by_the_next_run_too(house: House) -> None:
    killed(house, "CREATE TABLE parent (id INT PRIMARY KEY)")
    house.eve("CREATE TABLE eves (id INT, FOREIGN KEY (id) REFERENCES parent (id))")
    house.owner("SET GLOBAL foreign_key_checks = 0")
    try:
        with opened_external(house.access) as (_, _, warned):
            pass
    finally:
        house.owner("SET GLOBAL foreign_key_checks = 1")
    assert house.things() == {"parent", "eves"}
    assert ["foreign key of another table refers to it" in words for words in warned] == [True]


def test_a_connection_is_not_ended_for_the_number_in_a_greeting(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a proxy the greeting's number is the proxy's own, and at the server it is another's."""

    def be_interrupted(*_: object, **__: object) -> None:
        raise Interrupted

    monkeypatch.setattr(sessions, "create", be_interrupted)
    with closing(as_ann(house)) as another:
        with suppress(Interrupted), ExternalServer.open(house.access) as guest:
            database = guest.admin()
            number = another.number
            database._connection.server_thread_id = (number,)
            guest.carry_out(database, "CREATE TABLE t (id INT)", once=True)
        another.rows("DO 0")


def test_only_the_connection_that_took_a_lock_and_holds_it_is_ended(house: House) -> None:
    """Not one that has the number alone, nor one that has the lock alone, nor one of another account."""
    lock = NamedLock("tlstax-test")
    with house.as_eve() as eves, house.as_eve() as again, closing(as_ann(house)) as anns:
        assert lock.take(eves)
        number = lock.taken_by
        for holder, other in ((eves, again), (anns, again), (anns, anns)):
            eves.rows("DO RELEASE_LOCK('tlstax-test')")
            holder.rows("DO GET_LOCK('tlstax-test', 1)")
            lock.taken_by = other.number
            lock.end_holder(again)
            for connection in (eves, again, anns):
                connection.rows("DO 0")
        anns.rows("DO RELEASE_ALL_LOCKS()")
        assert lock.take(eves, 1)
        assert lock.taken_by == number
        lock.end_holder(again)
        with pytest.raises(SqlError):
            eves.rows("DO 0")


def test_a_damaged_key_is_named_and_nothing_is_made(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))
    folder = tmp_path / "external-servers"
    folder.mkdir()
    (folder / "key").write_text("?")
    with pytest.raises(MachineFault, match="holds no key of tlstax's") as refused:
        ExternalServer.open(house.access)
    assert refused.value.remedy.startswith("remove it")
    (folder / "key").unlink()
    with opened_external(house.access):
        assert (folder / "key").stat().st_mode & 0o777 == 0o600
        assert house.things() == OURS
    assert [path.name for path in folder.iterdir()] == ["key"]


def test_what_is_interrupted_before_the_records_first_entry_leaves_no_record(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, interrupted = OwnershipTable.add, []

    def first_time(*entry: Any) -> None:
        if not interrupted:
            interrupted.append(entry)
            raise Interrupted
        add(*entry)

    monkeypatch.setattr(OwnershipTable, "add", first_time)
    with pytest.raises(Interrupted):
        ExternalServer.open(house.access)
    assert interrupted
    assert house.things() == set()
