"""What is left of a study at a server that lets nobody in without TLS, or in which nothing may be made."""

from __future__ import annotations

import pytest

from tlstax.external import existing_table, ways
from tlstax.external.existing_table import KeyRange, TableKey
from tlstax.plan.order import cases
from tlstax.study import Study, load_study, override
from tlstax.study.case_workload import CaseWorkload
from tlstax.study.changes import (
    at_external_servers,
    by_addresses,
    without_by,
    without_plaintext,
    without_tables,
)
from tlstax.study.needs import data_needs
from tlstax.study.workloads import TABLES
from tlstax.study.workloads.user_defined import UserWorkload
from tlstax.support.errors import UserMistake

TAX = load_study("tax")


def without(study: Study) -> Study:
    found = without_plaintext(study)
    assert found is not None
    return found


def test_without_plaintext_the_first_tls_level_is_what_others_are_compared_with() -> None:
    found = without(TAX)
    assert {case.levels.tls for case in cases(found)} == {"1.2", "1.3"}
    baselines = [case for case in cases(found) if case.role == "baseline"]
    assert {(case.levels.tls, case.levels.resumes) for case in baselines} == {("1.3", False)}
    assert {case.levels.workload for case in baselines} == {"point-select", "reconnect"}
    older = without(override(TAX, "tls", ["1.2", "1.3-resumed"]))
    assert older.baseline == {"tls": "1.2", "resumption": "off"}


def test_connections_that_are_made_are_compared_with_those_that_are_kept() -> None:
    (contrast,) = without(TAX).contrasts
    assert (contrast.factor, contrast.baseline) == ("workload", "point-select")
    assert without(override(TAX, "workload", ["reconnect"])).contrasts == ()


def test_one_level_is_left_by_itself_and_a_study_without_plaintext_has_nothing_to_leave_out() -> None:
    assert {case.role for case in cases(without(override(TAX, "tls", ["1.3"])))} == {"baseline", "control"}
    assert without_plaintext(without(TAX)) is None
    assert without_plaintext(override(TAX, "tls", ["off"])) is None


def test_where_nothing_may_be_made_point_selects_become_pings() -> None:
    found = without_tables(TAX)
    assert found is not None
    assert found.levels_of()["workload"] == ("ping", "reconnect-ping")
    assert data_needs(TAX).makes_tables
    assert not data_needs(found).makes_tables
    assert data_needs(found).tables == ()
    assert without_tables(override(TAX, "workload", ["reconnect"])) is not None
    assert without_tables(override(TAX, "workload", ["point-select", "insert"])) is None


@pytest.mark.parametrize(("name", "makes"), [("ping", False), ("reconnect-ping", True)])
def test_a_ping_reads_nothing(name: str, *, makes: bool) -> None:
    named = CaseWorkload(name, "default", None)
    workload = named.over(TABLES, 10)
    assert [statement.sql for statement in workload.statements] == ["SELECT 1"]
    assert named.makes_connections is makes
    assert named.statements == 1


@pytest.mark.parametrize(("name", "makes"), [("reconnect", True), ("storm", True), ("point-select", False)])
def test_storms_and_what_reconnects_make_connections(name: str, *, makes: bool) -> None:
    assert CaseWorkload(name, "default", None).makes_connections is makes


def test_keys_of_a_table_that_is_there_are_read_and_nothing_else() -> None:
    own = existing_table.workloads(TableKey("my{orders", "id"), KeyRange(-5, 900))
    keeping, making = (
        CaseWorkload(name, "default", own[name]) for name in ("table-select", "table-reconnect")
    )
    workload = keeping.over(TABLES, 10)
    ((statement,),) = (transaction.statements for transaction in workload.transactions)
    assert statement.sql == "SELECT `id` FROM `my{{orders` WHERE `id` = {key}"
    drawn = statement.parameters["key"]
    assert (drawn.kind, drawn.low, drawn.high) == ("uniform_int", -5, 900)  # type: ignore[union-attr]
    assert not keeping.makes_connections
    assert making.makes_connections
    named = TAX.model_copy(update={"workloads": own})
    study = override(named, "workload", list(own))
    assert not data_needs(study).makes_tables


@pytest.mark.parametrize("text", ["orders", ".id", "orders.", "or`ders.id", ""])
def test_a_table_is_named_with_its_key(text: str) -> None:
    with pytest.raises(UserMistake, match=r"--table: .* is not a table and its key") as refused:
        existing_table.parse(text)
    assert "orders.id" in refused.value.remedy


def test_a_table_may_have_points_in_its_name() -> None:
    assert existing_table.parse("my.orders.id") == TableKey("my.orders", "id")


def test_clients_of_other_makers_keep_their_connections_at_an_external_server() -> None:
    study = at_external_servers(override(TAX, "client", ["engine", "sysbench"]), [None])
    found = {(case.levels.client, case.levels.workload) for case in cases(study)}
    assert found == {("engine", "point-select"), ("engine", "reconnect"), ("sysbench", "point-select")}
    assert at_external_servers(TAX, [None]) == TAX
    alone = override(override(TAX, "workload", ["reconnect"]), "client", ["pymysql-1.2"])
    with pytest.raises(UserMistake, match="how many an external server has at once could not be promised"):
        at_external_servers(alone, [None])


def test_each_way_is_compared_with_the_direct_one_and_with_itself_there() -> None:
    study = by_addresses(TAX, ["proxy"])
    assert study.baseline["address"] == "direct"
    (contrast,) = study.contrasts
    assert (contrast.factor, contrast.baseline) == ("address", "direct")
    baselines = {(case.levels.tls, case.levels.address) for case in cases(study) if case.role == "baseline"}
    assert baselines == {("off", "direct")}
    clear = without_by(study, ["proxy"], tls=True)
    assert {case.levels.tls for case in cases(clear) if case.levels.address == "proxy"} == {"off"}
    assert without_by(study, [], tls=True) == study
    encrypted = without_by(study, ["proxy"], tls=False)
    assert "off" not in {case.levels.tls for case in cases(encrypted) if case.levels.address == "proxy"}
    assert {case.levels.tls for case in cases(encrypted) if case.levels.address == "direct"} >= {"off", "1.3"}
    assert without_by(study, [], tls=False) == study


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("proxy=db.example:6033", "db.example", 6033), ("p-1=[::1]:3307", "::1", 3307)],
)
def test_a_way_has_a_name_a_host_and_a_port(text: str, host: str, port: int) -> None:
    ((_, address),) = ways.parse(["direct", text]).items()
    assert (address.host, address.port) == (host, port)


def test_a_workload_that_writes_to_its_own_tables_alone_changes_none_of_ours() -> None:
    """Of a table that is not made no copy can be kept."""
    own = UserWorkload.model_validate(
        {"name": "mine", "transactions": [{"statements": [{"sql": "DELETE FROM theirs WHERE id = 1"}]}]}
    )
    named = TAX.model_copy(update={"workloads": {"mine": own}})
    needs = data_needs(override(named, "workload", ["mine"]))
    assert (needs.tables, needs.changed, needs.writes) == ((), (), True)
