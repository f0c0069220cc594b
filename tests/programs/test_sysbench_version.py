"""Which sysbench is on the PATH is asked of the program itself."""

from __future__ import annotations

from typing import Any

import pytest

from tlstax.clients import sysbench
from tlstax.support.errors import MachineFault


def test_another_version_is_not_taken(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "sysbench"
    other.write_text("#!/bin/sh\necho sysbench 1.1.0-abc\n", encoding="utf-8")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))
    assert sysbench.told_version(other) == "1.1.0-abc"
    with pytest.raises(MachineFault, match=r"sysbench 1\.1\.0-abc, not 1\.0\.20") as fault:
        sysbench.present()
    assert "sysbench" in fault.value.remedy
    other.unlink()
    with pytest.raises(MachineFault, match="no sysbench on this machine's PATH"):
        sysbench.present()
