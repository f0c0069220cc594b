"""Commands start with what they carry out: what others are about is imported where it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LAB = Path(__file__).parents[2] / "lab"
OF_OTHERS = (
    *("external.server", "machines", "network.distance", "network.paths.opening"),
    *("report", "store.explore", "store.row_tables", "tools"),
)
"""What a run of a private server without a path and a distance has no use for before it has ended."""

MOST_BEFORE_A_RUN, MOST_OF_A_RUN, MOST_OF_A_REPORT = 150, 300, 240


def loaded_by(*modules: str, then: str = "") -> list[str]:
    """The modules of ours that importing these and a statement bring in, without the package's name."""
    script = (
        f"import sys; sys.path.insert(0, {str(LAB)!r}); import {', '.join(modules)}; {then or 'pass'}; "
        "print(*sorted(name for name in sys.modules if name.startswith('tlstax.')), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-P", "-c", script], check=True, capture_output=True, text=True)
    return [name.removeprefix("tlstax.") for name in done.stdout.split()]


@pytest.mark.parametrize("command", ["run_command", "study_command"])
def test_a_mistake_is_told_before_what_measures_is_imported(command: str) -> None:
    loaded = loaded_by("tlstax.cli.app", f"tlstax.cli.{command}")
    rooms = ("clients", "mysql", "network", "observers", "postgres", "report", "run", "store", "topics")
    assert [name for name in loaded if name.split(".")[0] in rooms] == []
    assert len(loaded) <= MOST_BEFORE_A_RUN


def test_a_run_imports_nothing_of_other_commands() -> None:
    loaded = loaded_by(
        "tlstax.cli.app", "tlstax.cli.run_command", "tlstax.cli.progress", "tlstax.run.pipeline"
    )
    assert "run.participant" in loaded
    assert [name for name in loaded if name.startswith(OF_OTHERS)] == []
    assert len(loaded) <= MOST_OF_A_RUN


def test_a_product_brings_in_its_own_room_alone() -> None:
    asks = "tlstax.products.product.product_named('mariadb')"
    loaded = loaded_by("tlstax.run.pipeline", "tlstax.products.product", then=asks)
    assert "mysql.status" in loaded
    assert [name for name in loaded if name.split(".")[0] == "postgres"] == []


EXTERNAL = ("tlstax.cli.external_servers", "tlstax.external.server", "tlstax.external.connection")


@pytest.mark.parametrize(
    ("login", "asks", "rooms"),
    [
        ("mysql_login", "external_product('mysql')", {"mysql"}),
        ("postgres_login", "external_product('postgresql')", {"postgres"}),
    ],
)
def test_an_external_server_brings_in_its_own_products_room_alone(
    login: str, asks: str, rooms: set[str]
) -> None:
    loaded = loaded_by(
        *EXTERNAL,
        f"tlstax.external.{login}",
        "tlstax.products.external",
        then=f"tlstax.products.external.{asks}",
    )
    assert {name.split(".")[0] for name in loaded} & {"mysql", "postgres"} == rooms


def test_a_report_imports_nothing_that_acts() -> None:
    loaded = loaded_by("tlstax.cli.app", "tlstax.cli.report_command")
    assert "report.formats.render" in loaded
    acting = ("mysql", "network", "observers", "postgres", "products", "run", "specimens", "sql")
    assert [name for name in loaded if name.split(".")[0] in acting] == []
    assert len(loaded) <= MOST_OF_A_REPORT
