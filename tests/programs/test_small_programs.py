"""Small programs of others that are run to their end: one that does not end is a sentence."""

from __future__ import annotations

import pytest

from tlstax.specimens.processes import must_run, ran
from tlstax.support.errors import MachineFault

ENDLESS = ["sleep", "1000"]


def test_one_that_does_not_end_in_time_is_ended_and_said_so() -> None:
    with pytest.raises(MachineFault, match=r"^openssl does not run \(it did not end within 0\.1 s\)$"):
        must_run("openssl", ENDLESS, timeout_s=0.1)


def test_one_that_is_not_there_is_said_so() -> None:
    with pytest.raises(MachineFault, match=r"^openssl does not run \(No such file or directory\)$"):
        must_run("openssl", ["/nowhere/openssl"])


def test_who_goes_on_without_it_learns_why() -> None:
    with pytest.raises(OSError, match=r"it did not end within 0\.1 s"):
        ran(ENDLESS, timeout_s=0.1)
