"""For tests of topics: `--renew-golden` makes the golden documents anew (see tests/fakes/golden.py)."""

from __future__ import annotations

import pytest

import golden


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--renew-golden", action="store_true", help="make the golden documents anew")


def pytest_configure(config: pytest.Config) -> None:
    golden.RENEW = config.getoption("--renew-golden", default=False)
