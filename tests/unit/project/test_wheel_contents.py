"""A wheel has all that is looked up at run time: the folders, the programs, every file of drivers."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tlstax import __version__
from tlstax.specimens.catalogue import files_of
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.support import installation
from wheel_contents import FOLDERS, PROGRAMS, SHIPPED, folder_files, program_files

ROOT = Path(__file__).parents[3]
LAB = ROOT / "lab"
OF_A_CLONE = {"cli/documents.py", "contract/schemas.py", "support/installation.py"}
"""What reaches out of the package: two write what is generated, one serves what wheels refuse to do."""


def sources() -> dict[str, str]:
    """Every module of the package by its path in it."""
    package = LAB / "tlstax"
    return {str(path.relative_to(package)): path.read_text("utf-8") for path in package.rglob("*.py")}


def test_every_folder_that_is_looked_up_is_there() -> None:
    wanted = {name for text in sources().values() for name in re.findall(r'folder_of\("([^"]+)"\)', text)}
    assert wanted == set(FOLDERS)
    assert f"tlstax/{installation.SHIPPED.name}" == SHIPPED


def test_nothing_else_reaches_out_of_the_package() -> None:
    reaching = set()
    for name, text in sources().items():
        above = max(
            (int(number) for number in re.findall(r"__file__\)[^\n]*\.parents\[(\d)\]", text)), default=0
        )
        if above > len(Path(name).parts):
            reaching.add(name)
    assert reaching == OF_A_CLONE


def test_every_program_that_is_started_is_there() -> None:
    started = {
        name for text in sources().values() for name in re.findall(r'"(tlstax-(?!tests)[a-z-]+)"', text)
    }
    built = re.search(
        r"^engine_programs=\((.*)\)$", (ROOT / "setup" / "engine.sh").read_text("utf-8"), re.MULTILINE
    )
    assert built is not None
    assert set(built[1].split()) == set(PROGRAMS)
    assert {name for name in started if main_file_of(name).is_file()} == set(PROGRAMS)


def main_file_of(program: str) -> Path:
    return ROOT / "engine" / "crates" / program.removeprefix("tlstax-") / "src" / "main.rs"


def test_every_file_of_a_driver_is_there() -> None:
    inside = {path for path, _ in folder_files(ROOT)}
    assert {file for driver in DRIVERS.values() for file in files_of(driver.place)} <= inside
    assert ROOT / "drivers" / "drivers.toml" in inside
    assert dict(folder_files(ROOT))[ROOT / "drivers" / "go" / "build"] == f"{SHIPPED}/drivers/go/build"


def test_what_tools_have_left_in_a_folder_is_not(tmp_path: Path) -> None:
    for name in ("go/build", "go/target/old", "node/node_modules/a.js"):
        (tmp_path / "drivers" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "drivers" / name).touch()
    assert [inside for _, inside in folder_files(tmp_path)] == [f"{SHIPPED}/drivers/go/build"]


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    for name in PROGRAMS[1:]:
        (tmp_path / name).touch()
    with pytest.raises(FileNotFoundError, match=f"lacks {PROGRAMS[0]}: setup/programs"):
        program_files(tmp_path)


def test_the_configuration_leads_to_files_that_are_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    hatch = project["tool"]["hatch"]
    wheel = hatch["build"]["targets"]["wheel"]
    paths = [
        hatch["version"]["path"],
        *wheel["packages"],
        wheel["hooks"]["custom"]["path"],
        *wheel["shared-data"],
    ]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    module, _, function = project["project"]["scripts"]["tlstax"].partition(":")
    assert f"def {function}() -> int:" in (LAB / f"{module.replace('.', '/')}.py").read_text("utf-8")


def test_the_version_is_one() -> None:
    engine = tomllib.loads((ROOT / "engine" / "Cargo.toml").read_text("utf-8"))
    assert engine["workspace"]["package"]["version"] == __version__


def test_the_launcher_installs_nothing_that_only_a_wheel_is_built_with() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    locked = (ROOT / "setup" / "requirements.txt").read_text("utf-8")
    for name in (re.split(r"[<>=]", line)[0] for line in wanted):
        assert f"\n{name}==" not in locked
