"""Proof of a copy: it held what the server had, and each was as long as the one that was looked through."""

from __future__ import annotations

from typing import Any

import pytest
from test_checks import PLAIN, record_of, with_done

from check_by_check import doubts
from tlstax.checks.streams import whole
from tlstax.contract import Streamed, StreamTerms
from tlstax.records.trial import TrialRecord

LENGTH = 1_000_000


def trial(*, has: dict[str, int] | None = None, **changes: Any) -> TrialRecord:
    """A trial of two copies that hold 100 rows, where the server has 100."""
    record = record_of(PLAIN)
    assert record.job is not None
    copied = {"copy_bytes": LENGTH, "written": (LENGTH, LENGTH, LENGTH), "holds": {"rows": 100}}
    record = with_done(record, operations=2, streamed=Streamed.model_validate({**copied, **changes}))
    terms = StreamTerms(names=("sbtest1",), holds={"rows": 100} if has is None else has)
    return record.model_copy(update={"job": record.job.model_copy(update={"stream": terms})})


def said(record: TrialRecord, client: str = "pg-dump") -> list[tuple[str, str]]:
    return doubts(whole, record, {**PLAIN.levels, "client": client, "workload": "stream"})


def test_a_whole_copy_is_believed() -> None:
    assert said(trial()) == []


def test_fewer_rows_than_the_server_has_are_no_copy() -> None:
    assert said(trial(holds={"rows": 99})) == [("invalid", "the server has 100 rows, and 99 came")]
    assert said(trial(holds={})) == [("invalid", "the server has 100 rows, and 0 came")]


def test_a_file_that_is_another_in_the_backup_is_named() -> None:
    found = trial(has={"base/5/16384": 8192}, holds={"base/5/16384": 4096})
    assert said(found, "pg-basebackup") == [
        ("invalid", "the server has 8,192 bytes in base/5/16384, and 4,096 came")
    ]


def test_of_a_log_its_bytes_are_what_it_has() -> None:
    assert said(trial(has={"bytes": 8192}, holds={"bytes": 4096})) == [
        ("invalid", "the server has 8,192 bytes, and 4,096 came")
    ]


@pytest.mark.parametrize("length", [LENGTH - 5000, LENGTH + 5000, 0])
def test_a_copy_of_the_window_of_another_length_is_no_copy(length: int) -> None:
    ((weight, reason),) = said(trial(written=(LENGTH, LENGTH, length)))
    assert weight == "invalid"
    assert reason.startswith(f"a copy of the window was {length:,} bytes long")


@pytest.mark.parametrize(("more", "is_whole"), [(1024, True), (1025, False), (-1024, True), (-1025, False)])
def test_a_kibibyte_that_is_written_beside_the_copy_makes_it_no_other(more: int, *, is_whole: bool) -> None:
    assert (said(trial(written=(LENGTH, LENGTH, LENGTH + more))) == []) is is_whole


def test_a_running_servers_files_may_differ_a_little_and_not_by_much() -> None:
    assert said(trial(written=(LENGTH, LENGTH - 5000, LENGTH + 5000)), "pg-basebackup") == []
    assert said(trial(written=(LENGTH, LENGTH, LENGTH // 2)), "pg-basebackup") != []


def test_a_copy_that_is_not_told_of_is_none() -> None:
    ((weight, reason),) = said(trial(written=(LENGTH, LENGTH)))
    assert (weight, reason) == ("invalid", "the length of 1 copy is known, and 2 were made")


def test_a_program_that_tells_nothing_is_not_believed() -> None:
    untold = trial()
    assert untold.ready is not None
    doubt = ("unknown", f"{untold.ready.client} does not tell what it copied")
    assert said(with_done(untold, streamed=None)) == [doubt]
    assert said(untold.model_copy(update={"job": None})) == [doubt]
    assert said(with_done(untold, streamed=None), "engine") == []
