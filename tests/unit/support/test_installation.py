"""What comes with tlstax is found in a clone and in a wheel, each by its own layout."""

from __future__ import annotations

from pathlib import Path

from tlstax.support.installation import PROGRAMS, SHIPPED, folder_of, is_clone, shipped_program


def test_a_clone_has_its_folders_beside_the_package(tmp_path: Path) -> None:
    package = tmp_path / "lab" / "tlstax"
    package.mkdir(parents=True)
    assert is_clone(package)
    assert folder_of("drivers", package) == tmp_path / "drivers"
    assert shipped_program("tlstax-engine", package) is None


def test_a_wheel_has_them_inside_the_package(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "tlstax"
    engine = package / SHIPPED.name / PROGRAMS / "tlstax-engine"
    engine.parent.mkdir(parents=True)
    engine.touch()
    assert not is_clone(package)
    assert folder_of("drivers", package) == package / SHIPPED.name / "drivers"
    assert shipped_program("tlstax-engine", package) == engine
    assert shipped_program("tlstax-other", package) is None


def test_these_tests_run_in_a_clone() -> None:
    assert is_clone()
    assert (folder_of("drivers") / "drivers.toml").is_file()
