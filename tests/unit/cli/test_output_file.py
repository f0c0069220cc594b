"""What `--report` and `-o` write: devices stay devices, links are followed, nothing else is touched."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_trials import fake_run
from kept_runs import measuring_nothing
from tlstax.cli import measuring
from tlstax.cli.options import MeasuringOptions
from tlstax.cli.streams import check_writable, write_text
from tlstax.run.preparing import Request
from tlstax.study import load_study
from tlstax.support.errors import MachineFault, UserMistake

TEXT = "µs\n"
REQUEST = Request(study=load_study("tax"))


@pytest.fixture(autouse=True)
def _umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_has_the_permissions_that_the_umask_leaves(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    check_writable(file)
    assert names(tmp_path) == []
    write_text(file, TEXT)
    assert file.read_text(encoding="utf-8") == TEXT
    assert mode(file) == 0o640
    assert names(tmp_path) == ["report.html"]


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text("before, and longer")
    file.chmod(0o604)
    written = file.stat().st_mtime_ns
    check_writable(file)
    assert (file.read_text(), file.stat().st_mtime_ns) == ("before, and longer", written)
    write_text(file, TEXT)
    assert (file.read_text(encoding="utf-8"), mode(file)) == (TEXT, 0o604)


def test_a_file_of_two_names_stays_one(tmp_path: Path) -> None:
    file, other = tmp_path / "a", tmp_path / "b"
    file.write_text("before, and longer")
    other.hardlink_to(file)
    check_writable(file)
    write_text(file, TEXT)
    assert other.read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_leads_to_what_is_written(tmp_path: Path, is_there: bool) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "report.html", tmp_path / "link"
    (tmp_path / "second").symlink_to("real/report.html")
    link.symlink_to(tmp_path / "second")
    if is_there:
        target.write_text("before")
    check_writable(link)
    assert target.exists() == is_there
    write_text(link, TEXT)
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == TEXT
    assert names(tmp_path) == ["link", "real", "second"]


def test_what_someone_put_in_the_way_is_not_written_to(tmp_path: Path) -> None:
    """The name of the partial file once could be foreseen, and a link there was followed."""
    (tmp_path / ".report.html.partial").symlink_to(tmp_path / "precious")
    write_text(tmp_path / "report.html", TEXT)
    assert not (tmp_path / "precious").exists()
    assert (tmp_path / ".report.html.partial").is_symlink()


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    master, slave = os.openpty()
    device = Path(os.ttyname(slave))
    (tmp_path / "link").symlink_to(device)
    try:
        check_writable(tmp_path / "link")
        write_text(tmp_path / "link", TEXT)
        assert os.read(master, 100).decode() == TEXT.replace("\n", "\r\n")
        assert stat.S_ISCHR(device.stat().st_mode)
    finally:
        os.close(master)
        os.close(slave)
    assert names(tmp_path) == ["link"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_the_null_device_is_not_replaced(tmp_path: Path) -> None:
    device = tmp_path / "null"
    os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    check_writable(device)
    write_text(device, TEXT)
    assert stat.S_ISCHR(device.stat().st_mode)


def test_a_fifo_gives_it_to_its_reader(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    check_writable(fifo)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    write_text(fifo, TEXT)
    reader.join(30)
    assert read == [TEXT]
    assert fifo.is_fifo()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no/such/folder.html", "No such file or directory"),
        ("file/report.html", "Not a directory"),
        (".", "Is a directory"),
        ("loop", "Too many levels of symbolic links"),
        ("dangling", "No such file or directory"),
        ("n" * 300, "File name too long"),
    ],
)
def test_a_path_that_will_not_do_is_named_before(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere/report.html")
    before = names(tmp_path)
    with pytest.raises(UserMistake) as caught:
        check_writable(tmp_path / name)
    assert caught.value.sentence() == f"{tmp_path / name} cannot be written ({why}); name another file"
    assert names(tmp_path) == before


def test_what_is_open_for_reading_alone_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (tmp_path / "file").open() as file, pytest.raises(UserMistake, match="Bad file descriptor"):
        check_writable(Path(f"/dev/fd/{file.fileno()}"))


def test_nothing_is_measured_for_a_report_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("tlstax.run.pipeline.run", lambda *_: pytest.fail("it measured"))
    with pytest.raises(UserMistake, match="cannot be written"):
        measuring.measure(REQUEST, MeasuringOptions(report=tmp_path / "nowhere" / "report.html"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "reports").touch()
    with pytest.raises(MachineFault, match="reports cannot be created"):
        measuring.measure(REQUEST, MeasuringOptions())


@pytest.mark.parametrize("json", [False, True])
def test_what_was_found_is_shown_though_its_file_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], json: bool
) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    stored = fake_run(number_of_blocks=3)
    monkeypatch.setattr("tlstax.run.pipeline.run", measuring_nothing(stored))
    with pytest.raises(MachineFault) as caught:
        measuring.measure(REQUEST, MeasuringOptions(report=Path("/dev/full"), json=json))
    assert stored.header.run in capsys.readouterr().out
    sentence = caught.value.sentence()
    assert sentence.startswith("/dev/full could not be written (No space left on device); `tlstax report ")
    assert stored.header.run in sentence
