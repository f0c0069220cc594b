"""How each product's system tables and accounts are made: nobody is let in without a password."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlstax.records.trial import Specimen
from tlstax.specimens.products import MariaDb, MySql, MySql5, Product, rules_of
from tlstax.specimens.server_build import ServerBuild
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


def unpacked(tmp_path: Path) -> ServerBuild:
    """A server in a tree of its own with the SQL files that both products have."""
    (tmp_path / "share").mkdir()
    for name in FILES:
        (tmp_path / "share" / name).write_text(f"-- {name}\n", encoding="utf-8")
    specimen = Specimen(name="old", kind="server", version="5.6.14", origin="a test")
    return ServerBuild(specimen, "mysql", tmp_path / "bin/mysqld", basedir=tmp_path)


@pytest.mark.parametrize(
    ("product", "removal"),
    [
        (MySql5(), "DELETE FROM user;"),
        (MariaDb((10, 1)), "DELETE FROM user WHERE User IN ('', 'root');"),
        (MariaDb((10, 4)), "DELETE FROM global_priv WHERE User IN ('', 'root');"),
    ],
)
def test_accounts_without_a_password_go_with_the_system_tables(
    tmp_path: Path, product: Product, removal: str
) -> None:
    statements = product.initialise_statements(unpacked(tmp_path)).decode()
    assert statements.index("mysql_system_tables_data.sql") < statements.index(removal)
    assert "--bootstrap" in product.initialise_options()


@pytest.mark.parametrize("product", [MySql(), MySql5(), MariaDb((11, 8))])
def test_every_account_gets_a_password(product: Product) -> None:
    statements = product.account_statements(new_credentials())
    made = [statement for statement in statements if statement.startswith("CREATE USER")]
    assert len(made) == 2
    assert all("IDENTIFIED BY '" in statement for statement in made)


def test_a_server_in_a_tree_is_told_where_its_files_are(tmp_path: Path) -> None:
    build = unpacked(tmp_path)
    (tmp_path / "lib/plugin").mkdir(parents=True)
    assert MySql5().path_options(build) == [
        f"--basedir={tmp_path}",
        f"--lc-messages-dir={tmp_path}/share",
        f"--character-sets-dir={tmp_path}/share/charsets",
        f"--plugin-dir={tmp_path}/lib/plugin",
    ]


def test_a_server_without_its_sql_files_says_which_one_is_missing(tmp_path: Path) -> None:
    build = unpacked(tmp_path)
    (tmp_path / "share/mysql_system_tables_data.sql").unlink()
    with pytest.raises(MachineFault, match=r"its file mysql_system_tables_data\.sql cannot be found"):
        MySql5().initialise_statements(build)


@pytest.mark.parametrize(
    ("words", "flavour", "era", "rules"),
    [
        ("mysqld  Ver 9.7.4 for Linux on x86_64 (Debian)", "mysql", (9, 7), MySql),
        ("mysqld  Ver 5.6.14 for Linux on x86_64 (MySQL Community Server)", "mysql", (5, 6), MySql5),
        ("mysqld  Ver 5.7.44-48 for Linux on x86_64 (Percona Server)", "mysql", (5, 7), MySql),
        ("mariadbd  Ver 11.8.3-MariaDB-0+deb13u1 for debian-linux-gnu", "mariadb", (11, 8), MariaDb),
    ],
)
def test_a_product_is_known_by_what_it_prints(
    words: str, flavour: ProductName, era: tuple[int, int], rules: type
) -> None:
    assert product_of(words) == flavour
    assert isinstance(rules_of(flavour, era), rules)
