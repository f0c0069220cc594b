"""Which tests one process has, so that a page is made once."""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of a page go to one process, and those of a file that are not of a page of their own."""
    for item in items:
        made = item.callspec.params.get("make") if hasattr(item, "callspec") else None
        item.add_marker(pytest.mark.xdist_group(made.__name__ if made else item.path.stem))
