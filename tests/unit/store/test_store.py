"""What the store took is there, whatever happens to the program, the disk or the file; and it says so."""

import json
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from threading import Barrier

import pytest

from fake_trials import fake_header, fake_run
from full_store import until_full
from kept_runs import NAME, RUN, keep, sentence_of
from tlstax.contract import Account
from tlstax.records.trial import RunHeader, TrialRecord
from tlstax.store import Store, new_run_id, row_tables
from tlstax.store.schema import Writer, this_process
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.topics.answer.export import export_text


def test_a_run_comes_back_as_it_went_in(store: Store, path: Path) -> None:
    keep(store, RUN)
    store.finish(NAME, "complete", RUN.stopped_because)
    with Store.open(path) as again:
        kept = again.load(NAME)
        assert again.header(NAME) == RUN.header
        with pytest.raises(UserMistake, match="there is no run"):
            again.header(NAME[:-1])
    assert kept.header == RUN.header
    assert (kept.status, kept.stopped_because) == ("complete", RUN.stopped_because)
    in_order = sorted(RUN.trials, key=lambda record: (record.trial.block, record.trial.position))
    assert kept.trials == tuple(in_order)


def test_runs_are_listed_the_last_first_with_their_counts(store: Store) -> None:
    keep(store, RUN, "20260101-000000-aaaa")
    store.finish("20260101-000000-aaaa", "failed", "no server")
    store.begin(fake_header(run="20250101-000000-bbbb"))
    first, second = store.runs()
    assert (first.run, first.status, first.valid) == ("20250101-000000-bbbb", "running", 0)
    assert (second.run, second.study, second.status) == ("20260101-000000-aaaa", "tax", "failed")
    assert second.stopped_because == "no server"
    assert (second.valid, second.invalid, second.unknown) == (19, 1, 0)
    assert store.load("last").header.run == "20260101-000000-aaaa"


def test_a_run_can_be_named_by_its_beginning(store: Store) -> None:
    names = ["20260101-000000-aaaa", "20260101-000000-aaab", "20260102-000000-cccc"]
    for name in names:
        store.begin(fake_header(run=name))
    assert store.load("20260102").header.run == names[2]
    assert store.load(names[0]).header.run == names[0]
    with pytest.raises(UserMistake) as caught:
        store.load("20260101")
    assert "'20260101' may be 2 runs" in sentence_of(UserMistake, caught)
    with pytest.raises(UserMistake, match="there is no run '2027'"):
        store.load("2027")


def test_an_empty_store_says_how_to_fill_it(store: Store) -> None:
    assert store.runs() == []
    with pytest.raises(UserMistake) as caught:
        store.load("last")
    assert sentence_of(UserMistake, caught) == "there is no run in the store yet; `tlstax run` makes one"


def test_run_names_sort_by_time_and_differ_within_a_second() -> None:
    at = datetime(2026, 11, 21, 19, 55, 0, tzinfo=UTC)
    elsewhere = at.astimezone(timezone(timedelta(hours=9)))
    assert new_run_id(elsewhere).startswith("20261121-195500-")
    assert len({new_run_id(at) for _ in range(50)}) > 1
    assert new_run_id(at) < new_run_id(at + timedelta(seconds=1))


def test_a_deleted_run_is_gone_with_its_trials_and_frees_its_room(store: Store, path: Path) -> None:
    store.begin(fake_header(run="other"))
    without = _pages(path)
    keep(store, RUN)
    store.finish(NAME, "complete", "")
    assert _pages(path) > without
    assert store.delete(NAME) == NAME
    assert [summary.run for summary in store.runs()] == ["other"]
    assert _trials(path) == 0
    assert _pages(path) == without
    with pytest.raises(UserMistake, match="there is no run"):
        store.load(NAME)


def _pages(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        return int(connection.execute("PRAGMA page_count").fetchone()[0])


def _trials(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        return int(connection.execute("SELECT count(*) FROM kept_trials").fetchone()[0])


def test_a_run_that_goes_on_cannot_be_deleted(store: Store) -> None:
    store.begin(fake_header())
    with pytest.raises(UserMistake) as caught:
        store.delete(NAME)
    assert f"still running, in process {os.getpid()}" in sentence_of(UserMistake, caught)


def test_a_password_never_reaches_the_file(store: Store) -> None:
    secret = "correct-horse-battery"
    record = RUN.trials[0]
    assert record.job is not None
    account = Account(user="u", password=secret)
    careless = record.model_copy(update={"job": record.job.model_copy(update={"account": account})})
    store.begin(RUN.header)
    store.add_trials(NAME, (careless,))
    kept = store.load(NAME).trials[0]
    assert kept.job is not None
    assert kept.job.account.password == ""
    assert secret not in export_text(store.load(NAME))


def test_the_file_is_its_owners_alone(store: Store, path: Path) -> None:
    store.begin(RUN.header)
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}


def test_an_export_has_everything_of_every_trial(store: Store) -> None:
    keep(store, RUN)
    store.finish(NAME, "complete", "")
    raw = json.loads(export_text(store.load("last")))
    assert (raw["schema"], raw["run"], raw["study"]["name"], raw["seed"]) == (1, NAME, "tax", 7)
    assert len(raw["trials"]) == len(RUN.trials)
    measured = next(
        t for t in raw["trials"] if t["case"]["workload"] == "reconnect" and t["case"]["tls"] == "1.3"
    )
    assert measured["outcomes"]["ops_per_s"] > 0
    assert measured["histograms_ns"]["tls_handshake"].startswith("H")
    assert measured["proof"]["client"]["negotiated"][0]["server"]["version"] == "TLSv1.3"
    assert measured["proof"]["server"]["status_delta"]["Ssl_finished_accepts"] > 0
    assert measured["proof"]["lifetime"]["handshakes"][0]["count"] > 0
    assert {"block", "position", "started_at", "verdict", "reasons"} <= measured.keys()
    invalid = [trial for trial in raw["trials"] if trial["verdict"] == "invalid"]
    assert [len(trial["reasons"]) for trial in invalid] == [1]


def test_the_same_trial_is_not_taken_twice(store: Store) -> None:
    store.begin(RUN.header)
    store.add_trials(NAME, (RUN.trials[0],))
    with pytest.raises(MachineFault, match=f"already has this run or trial \\(of run {NAME} 1 trial kept"):
        store.add_trials(NAME, (RUN.trials[0],))
    assert len(store.load(NAME).trials) == 1


def test_what_is_written_waits_for_the_disk(store: Store) -> None:
    """The settings under which SQLite promises that a commit survives a loss of power."""
    settings = [
        store._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
    ]
    assert settings == ["wal", 2]


def test_a_run_goes_on_where_it_stopped(store: Store) -> None:
    store.begin(RUN.header)
    store.add_trials(NAME, (RUN.trials[0],))
    store.finish(NAME, "interrupted", "Ctrl-C")
    left = store.resume(NAME)
    assert (left.status, left.stopped_because, len(left.trials)) == ("running", "", 1)
    store.add_trials(NAME, (RUN.trials[1],))
    store.finish(NAME, "complete", "done")
    assert len(store.load(NAME).trials) == 2


def test_a_later_process_with_the_same_number_is_not_mistaken_for_the_writer() -> None:
    me = this_process()
    assert me.is_alive()
    assert not Writer(me.pid, me.started_ticks - 1, me.boot_id).is_alive()
    assert not Writer(me.pid, me.started_ticks, "another boot").is_alive()


def test_a_writer_is_known_by_its_lock_and_not_by_a_number(store: Store, path: Path) -> None:
    """In another PID namespace there is no process of that number, or another one, or another /proc."""
    store.begin(RUN.header)
    for pid, boot_id in ((2**22 - 7, ""), (1, this_process().boot_id)):
        store._connection.execute("UPDATE kept_runs SET pid = ?, boot_id = ?", (pid, boot_id))
        with Store.open(path) as elsewhere:
            assert elsewhere.runs()[0].status == elsewhere.load(NAME).status == "running"
            with pytest.raises(UserMistake, match="is still running"):
                elsewhere.delete(NAME)
            with pytest.raises(UserMistake, match="is still working on run"):
                elsewhere.resume(NAME)
            assert row_tables.missing(elsewhere) == []
    store.add_trials(NAME, RUN.trials[:1])
    store.close()
    with Store.open(path) as later:
        assert later.load(NAME).status == "interrupted"
        assert later.resume(NAME).status == "running"
        later.finish(NAME, "complete", "")
        assert later.delete(NAME) == NAME


def test_a_run_of_before_has_the_number_of_its_writer(store: Store, path: Path) -> None:
    store.begin(RUN.header)
    store._connection.execute("UPDATE kept_runs SET locked = 0")
    store.close()
    with Store.open(path) as later:
        assert later.load(NAME).status == "running"
        later._connection.execute("UPDATE kept_runs SET started_ticks = started_ticks - 1")
        assert later.load(NAME).status == "interrupted"


def test_many_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    openers = 6
    for attempt in range(10):
        path = tmp_path / f"{attempt}.sqlite"
        together = Barrier(openers)

        def begin(name: str, path: Path = path, together: Barrier = together) -> None:
            together.wait()
            with Store.open(path) as store:
                store.begin(fake_header(run=name))

        with ThreadPoolExecutor(openers) as pool:
            list(pool.map(begin, "abcdef"))
        with Store.open(path) as store:
            assert {summary.run for summary in store.runs()} == set("abcdef")


def test_a_full_disk_loses_nothing_and_says_what_is_kept(store: Store, path: Path) -> None:
    """SQLite's own limit of pages makes the error that a full disk makes."""
    store.begin(RUN.header)
    store._connection.execute(f"PRAGMA max_page_count = {_pages(path) + 6}")
    kept, fault = until_full(store, NAME, fake_run(number_of_blocks=8).trials)
    assert kept > 0
    assert "the disk is full" in fault.message
    assert f"of run {NAME} {kept} trials kept" in fault.message
    store._connection.execute("PRAGMA max_page_count = 100000")
    assert len(store.load(NAME).trials) == kept
    store.finish(NAME, "failed", fault.message)
    assert store.load(NAME).status == "failed"


def test_what_was_stored_before_runs_had_several_machines_has_one() -> None:
    header = RUN.header.model_dump(mode="json", by_alias=True)
    trial = RUN.trials[0].model_dump(mode="json", by_alias=True)
    del header["machines"], trial["machine"]
    assert RunHeader.model_validate_json(json.dumps(header)) == RUN.header
    assert TrialRecord.model_validate_json(json.dumps(trial)) == RUN.trials[0]
