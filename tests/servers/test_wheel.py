"""A wheel that is built, installed outside the repository and used there: engine, data, a report."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD_S, COMMAND_S = 300, 600


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of this tree and of the programs that these tests run with, built as pip does."""
    folder = tmp_path_factory.mktemp("dist")
    programs = Path(os.environ["TLSTAX_ENGINE"]).parent
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT]
    subprocess.run(build, env={**os.environ, "TLSTAX_PROGRAMS": str(programs)}, check=True, timeout=BUILD_S)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its `tlstax` in an environment that has what this one has, by a path file, and not the repository."""
    folder = tmp_path_factory.mktemp("elsewhere") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=BUILD_S)
    python = folder / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(install, env=outside(), check=True, timeout=BUILD_S)
    return folder / "bin" / "tlstax"


def outside() -> dict[str, str]:
    """The environment of somebody who has a wheel, and no launcher."""
    ours = ("PYTHONPATH", "TLSTAX_ENGINE", "TLSTAX_DRIVERS")
    return {name: value for name, value in os.environ.items() if name not in ours}


def started(installed: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [installed, *words],
        cwd=installed.parents[2],
        env=outside() | more,
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_S,
    )


@pytest.mark.long
def test_a_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = {info.filename: info for info in archive.infolist()}
    lab = ROOT / "lab"
    files = [
        path for path in (lab / "tlstax").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    assert {str(path.relative_to(lab)) for path in files} <= inside.keys()
    assert re.fullmatch(r"tlstax-[\d.]+-py3-none-manylinux_2_\d+_(x86_64|aarch64)\.whl", wheel.name)
    for name in ("programs/tlstax-engine", "drivers/go/build"):
        assert inside[f"tlstax/shipped/{name}"].external_attr >> 16 & 0o111, f"{name} cannot be executed"


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_an_installed_wheel_measures(installed: Path, tmp_path: Path) -> None:
    """With its own engine, and drivers whose builds would be those of a clone."""
    report = tmp_path / "report.html"
    words = ("run", "--budget", "5s", "--over-budget", "--json", "--report", str(report))
    done = started(installed, *words, TLSTAX_DATA=str(tmp_path))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    engine = next(one for one in document["specimens"] if one["name"] == "tlstax-engine")
    assert engine["path"].endswith("/site-packages/tlstax/shipped/programs/tlstax-engine")
    assert report.stat().st_size > 10_000


@pytest.mark.long
def test_an_installed_wheel_says_what_it_cannot_do(installed: Path, tmp_path: Path) -> None:
    done = started(installed, "machines", "--ray", "127.0.0.1:1", TLSTAX_DATA=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "tlstax: other machines are sent the sources of a clone, and this tlstax was installed from a wheel; "
        "clone the repository, and start ./tlstax there"
    ]
    done = started(installed, "doctor", "--json", TLSTAX_ENGINE="/nonexistent", TLSTAX_DATA=str(tmp_path))
    assert "TLSTAX_ENGINE is /nonexistent, which is not a program" in done.stdout
