"""What a server can do is asked of it, and never guessed from its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from left_out import why_left_out
from tlstax.cli.measuring import knowing_added
from tlstax.plan.order import plan
from tlstax.specimens import added
from tlstax.specimens.added import Added
from tlstax.specimens.server_recipes import SERVERS
from tlstax.study import Study, built_in_studies, load_study, override, parse_study, study_toml
from tlstax.study.level_names import AUTH_PLUGINS, COMPRESSIONS
from tlstax.study.needs import lacking
from tlstax.study.server_abilities import CATALOGUED
from tlstax.tools.probes import specimen
from tlstax.tools.probes.specimen import Facts


def test_every_server_of_the_catalogue_is_known() -> None:
    assert set(CATALOGUED) == {recipe.name for recipe in SERVERS if recipe.flavour != "postgresql"}


def study_of(*servers: str) -> Study:
    study = override(load_study("tax"), "workload", ["people-select"])
    study = override(study, "protocol", ["text"])
    study = override(study, "server", servers)
    return override(study, "client", ["engine", "mysqlslap-9.7"])


@pytest.fixture
def percona(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A server that the user added; what it answered is written by each test."""
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))
    added.keep(Added(name="percona-5.7", mysqld="/opt/mysqld", version="5.7.44-48", sha256="0"))
    return "percona-5.7"


def answered(name: str, facts: Facts) -> None:
    place = specimen.added_facts(name)
    place.mkdir(parents=True)
    specimen.write(place, facts)


def reasons(study: Study) -> set[str]:
    return {excluded.why for excluded in plan(study).excluded}


def test_an_added_server_without_tls_1_2_is_left_out_for_clients_that_need_it(percona: str) -> None:
    answered(percona, Facts(tls_versions=("1.0", "1.1"), account_plugins=("mysql_native_password",)))
    study = knowing_added(study_of("mysql-9.7", percona))
    assert f"mysqlslap-9.7 speaks only TLS 1.2 and 1.3, and {percona} has neither" in reasons(study)


def test_an_added_server_with_native_accounts_alone_is_left_out_for_a_client_without(percona: str) -> None:
    answered(percona, Facts(tls_versions=("1.2",), account_plugins=("mysql_native_password",)))
    study = knowing_added(study_of("mysql-9.7", percona))
    assert any("mysql_native_password" in why and percona in why for why in reasons(study))


@pytest.mark.parametrize(
    "facts",
    [
        Facts(tls_versions=("1.2", "1.3"), account_plugins=("caching_sha2_password", "and_another")),
        Facts(tls_versions=("1.0",)),
        Facts(unasked="it did not start", account_plugins=()),
        None,
    ],
    ids=["able", "asked by an earlier version", "not asked", "nothing known"],
)
def test_what_is_able_or_not_known_stays_in(percona: str, facts: Facts | None) -> None:
    if facts is not None:
        answered(percona, facts)
    assert not any(percona in why for why in reasons(knowing_added(study_of("mysql-9.7", percona))))


def test_an_added_server_without_zstd_is_left_out_for_it(percona: str) -> None:
    answered(
        percona,
        Facts(
            tls_versions=("1.2",),
            account_plugins=("mysql_native_password",),
            compressions=("off", "zlib"),
        ),
    )
    study = override(load_study("compression"), "server", ("mysql-9.7", percona))
    left_out = {why for why in reasons(knowing_added(study)) if percona in why}
    assert left_out == {f"{percona} does not compress by zstd"}


def test_what_servers_lack_is_counted_by_its_reason() -> None:
    study = override(load_study("compression"), "server", ("mariadb-11.8", "mysql-9.7"))
    left = sum(levels["server"] == "mariadb-11.8" for levels in study.included())
    whole = sum(levels["server"] == "mysql-9.7" for levels in study.included())
    assert lacking(study) == {"mariadb-11.8 does not compress by zstd": whole - left}
    assert lacking(override(study, "server", ("mysql-9.7",))) == {}


def test_what_was_asked_stays_with_the_study(percona: str) -> None:
    answered(percona, Facts(tls_versions=("1.0",), account_plugins=("mysql_native_password",)))
    study = knowing_added(study_of("mysql-9.7", percona))
    again = parse_study(study_toml(study), where="a file")
    assert again.servers == study.servers
    assert reasons(again) == reasons(study)


@pytest.mark.parametrize("name", built_in_studies())
def test_a_study_that_leaves_out_what_a_server_lacks_names_its_servers(name: str) -> None:
    levels = load_study(name).levels_of()
    asks = (("auth", AUTH_PLUGINS), ("compression", COMPRESSIONS[1:]))
    depends = any(set(levels.get(factor, ())) & set(asked) for factor, asked in asks)
    assert not depends or "server" in levels, "without a name nothing is known, and nothing left out"


def test_a_study_of_the_catalogue_says_nothing_of_servers() -> None:
    study = load_study("tax")
    assert knowing_added(study) == study
    assert "servers" not in study.model_dump()


@pytest.mark.parametrize("name", sorted(CATALOGUED))
def test_accounts_of_the_catalogue_are_those_that_its_servers_have(name: str) -> None:
    for plugin in ("caching_sha2_password", "mysql_native_password"):
        why = why_left_out({"workload": "reconnect", "server": name, "auth": plugin})
        assert bool(why) == (plugin not in CATALOGUED[name].account_plugins)
