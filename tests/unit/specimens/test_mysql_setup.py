"""How MySQL's and MariaDB's system tables and accounts are made: nobody is let in without a password."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tlstax.records.trial import Specimen
from tlstax.specimens.certificates import Certificates
from tlstax.specimens.mysql_setup import MariaDb, MySql, MySql5, measurement_options
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_process import ServerSetup, setup_of
from tlstax.specimens.server_settings import ServerSettings, Site
from tlstax.sql.credentials import new_credentials
from tlstax.study.product import ProductName, product_of
from tlstax.support.errors import MachineFault

FILES = (
    "mysql_system_tables.sql",
    "mysql_system_tables_data.sql",
    "mysql_performance_tables.sql",
    "fill_help_tables.sql",
    "maria_add_gis_sp_bootstrap.sql",
)


def unpacked(
    tmp_path: Path,
    version: str = "5.6.14",
    product: ProductName = "mysql",
    settings: ServerSettings | None = None,
) -> Site:
    """The site of a server in a tree of its own with the SQL files that both products have."""
    (tmp_path / "share").mkdir()
    (tmp_path / "site").mkdir()
    for name in FILES:
        (tmp_path / "share" / name).write_text(f"-- {name}\n", encoding="utf-8")
    specimen = Specimen(name="old", kind="server", version=version, origin="a test")
    build = ServerBuild(specimen, product, tmp_path / "bin/mysqld", basedir=tmp_path)
    files = Certificates(tmp_path / "ca.pem", tmp_path / "cert.pem", tmp_path / "key.pem")
    return Site(build, settings or ServerSettings(), tmp_path / "site", files)


def test_many_connections_may_prepare_a_statement_each() -> None:
    """By default MySQL keeps 16,382 of them (max_prepared_stmt_count)."""
    usual = measurement_options(ServerSettings())
    many = measurement_options(ServerSettings(max_connections=10_050))
    assert [option for option in many if option not in usual] == [
        "--max-connections=10050",
        "--max-prepared-stmt-count=1048576",
    ]


@pytest.mark.parametrize(
    ("product", "version", "removal"),
    [
        ("mysql", "5.6.14", "DELETE FROM user;"),
        ("mariadb", "10.1.8", "DELETE FROM user WHERE User IN ('', 'root');"),
        ("mariadb", "10.4.2", "DELETE FROM global_priv WHERE User IN ('', 'root');"),
    ],
)
def test_accounts_without_a_password_go_with_the_system_tables(
    tmp_path: Path, product: ProductName, version: str, removal: str
) -> None:
    for errand in setup_of(unpacked(tmp_path, version, product)).errands():
        statements = errand.statements.read_text("utf-8")
        assert statements.index("mysql_system_tables_data.sql") < statements.index(removal)
        assert "--bootstrap" in errand.arguments
    assert not errand.statements.exists()


def test_the_system_tables_of_mysql_are_its_own(tmp_path: Path) -> None:
    (errand,) = setup_of(unpacked(tmp_path, "9.7.4")).errands()
    assert "--initialize" in errand.arguments
    assert not any(option.startswith("--port") for option in errand.arguments)


@pytest.mark.parametrize(
    ("product", "version"), [("mysql", "9.7.4"), ("mysql", "5.6.14"), ("mariadb", "11.8.3")]
)
def test_every_account_gets_a_password(tmp_path: Path, product: ProductName, version: str) -> None:
    setup = setup_of(unpacked(tmp_path, version, product))
    statements = setup.account_statements(new_credentials())
    made = [statement for statement in statements if statement.startswith("CREATE USER")]
    assert len(made) == 2
    assert all("IDENTIFIED BY '" in statement for statement in made)


@pytest.mark.parametrize(
    ("product", "version"), [("mysql", "9.7.4"), ("mysql", "5.6.14"), ("mariadb", "11.8.3")]
)
@pytest.mark.parametrize("replicates", [False, True])
def test_only_a_server_that_replicates_keeps_a_log_and_lets_it_be_read(
    tmp_path: Path, product: ProductName, version: str, *, replicates: bool
) -> None:
    setup = setup_of(unpacked(tmp_path, version, product, ServerSettings(replicates=replicates)))
    granted = [line for line in setup.account_statements(new_credentials()) if "REPLICATION" in line]
    assert granted == ["GRANT REPLICATION SLAVE ON *.* TO 'tlstax_load'@'%'"] * replicates
    options = set(setup.options(3306))
    assert ("--skip-log-bin" in options) is not replicates
    assert ({"--log-bin=binlog", "--server-id=1", "--loose-binlog-format=ROW"} <= options) is replicates


def test_a_server_in_a_tree_is_told_where_its_files_are(tmp_path: Path) -> None:
    (tmp_path / "lib/plugin").mkdir(parents=True)
    assert MySql5(unpacked(tmp_path)).path_options() == [
        f"--basedir={tmp_path}",
        f"--lc-messages-dir={tmp_path}/share",
        f"--character-sets-dir={tmp_path}/share/charsets",
        f"--plugin-dir={tmp_path}/lib/plugin",
    ]


def test_a_server_without_its_sql_files_says_which_one_is_missing(tmp_path: Path) -> None:
    site = unpacked(tmp_path)
    (tmp_path / "share/mysql_system_tables_data.sql").unlink()
    with pytest.raises(MachineFault, match=r"its file mysql_system_tables_data\.sql cannot be found"):
        list(MySql5(site).errands())


def test_what_keeps_a_server_in_its_place_comes_after_what_is_asked_for_and_before_what_overrides(
    tmp_path: Path,
) -> None:
    settings = ServerSettings(configuration=("--datadir=/elsewhere",), options=("--port=1",))
    site = unpacked(tmp_path, settings=settings)
    options = MySql5(site).options(4000)
    assert options.index("--datadir=/elsewhere") < options.index(f"--datadir={site.data_directory}")
    assert options.index("--port=4000") < options.index("--port=1")


@pytest.mark.parametrize(
    ("words", "flavour", "version", "setup"),
    [
        ("mysqld  Ver 9.7.4 for Linux on x86_64 (Debian)", "mysql", "9.7.4", MySql),
        ("mysqld  Ver 5.6.14 for Linux on x86_64 (MySQL Community Server)", "mysql", "5.6.14", MySql5),
        ("mysqld  Ver 5.7.44-48 for Linux on x86_64 (Percona Server)", "mysql", "5.7.44-48", MySql),
        ("mariadbd  Ver 11.8.3-MariaDB-0+deb13u1 for debian-linux-gnu", "mariadb", "11.8.3", MariaDb),
    ],
)
def test_a_product_is_known_by_what_it_prints(
    tmp_path: Path, words: str, flavour: ProductName, version: str, setup: type[ServerSetup]
) -> None:
    assert product_of(words) == flavour
    assert type(setup_of(unpacked(tmp_path, version, flavour))) is setup


def kept_as(tmp_path: Path, version: str = "9.7.4", **chosen: Any) -> str | None:
    """By what the data of a server are known that was set up so; None where they are not kept."""
    shutil.rmtree(tmp_path, ignore_errors=True)
    tmp_path.mkdir()
    site = unpacked(tmp_path, version, settings=ServerSettings(**chosen))
    specimen = tmp_path / "specimen"
    specimen.mkdir()
    kept = setup_of(replace(site, build=replace(site.build, shelved=specimen))).kept_data()
    if kept is None:
        return None
    made = tmp_path / "made"
    made.mkdir()
    kept.keep(made)
    return next(path.name for path in specimen.iterdir() if path.is_dir())


def test_data_are_kept_for_all_servers_of_a_build_but_those_with_a_configuration_of_their_own(
    tmp_path: Path,
) -> None:
    usual = kept_as(tmp_path / "site")
    assert usual is not None
    assert kept_as(tmp_path / "site", max_connections=9, options=("--tls-version=TLSv1.2",)) == usual
    assert kept_as(tmp_path / "site", "5.6.14") not in (usual, None)
    assert kept_as(tmp_path / "site", configuration=("--innodb-data-home-dir=/elsewhere",)) is None


def test_a_server_that_is_on_no_shelf_keeps_no_data(tmp_path: Path) -> None:
    assert setup_of(unpacked(tmp_path, "9.7.4")).kept_data() is None


def test_neither_who_a_server_is_nor_a_key_is_among_what_is_kept(tmp_path: Path) -> None:
    site = unpacked(tmp_path, "9.7.4")
    kept = setup_of(replace(site, build=replace(site.build, shelved=tmp_path))).kept_data()
    made, data = tmp_path / "made", tmp_path / "data"
    for directory in (made, data):
        directory.mkdir()
    for name in ("auto.cnf", "private_key.pem", "public_key.pem", "ibdata1"):
        (made / name).write_text(name, "ascii")
    assert kept is not None
    kept.keep(made)
    assert kept.copy_to(data)
    assert [path.name for path in data.iterdir()] == ["ibdata1"]
