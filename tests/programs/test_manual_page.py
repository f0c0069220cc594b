"""The manual page is one that every reader of such pages takes without a complaint."""

from __future__ import annotations

import subprocess
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tlstax.1"


def test_nothing_is_wrong_with_the_manual_page() -> None:
    """But that it has no date: it is that of no release yet, and the same whenever it is written."""
    lint = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", PAGE], capture_output=True, text=True, check=False
    )
    said = [line for line in (lint.stdout + lint.stderr).splitlines() if "missing date" not in line]
    assert said == []
    shown = subprocess.run(["mandoc", "-T", "ascii", PAGE], capture_output=True, text=True, check=True).stdout
    assert "tlstax study run" in shown.replace("\b", "")


def test_what_is_wrong_would_be_seen(tmp_path: Path) -> None:
    broken = tmp_path / "tlstax.1"
    broken.write_text(PAGE.read_text("utf-8") + ".NOREQUEST\n", "utf-8")
    lint = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", broken], capture_output=True, text=True, check=False
    )
    assert "NOREQUEST" in lint.stdout + lint.stderr
