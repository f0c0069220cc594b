"""What leaves the program: nothing that steers a terminal, whatever servers say and wherever it goes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tlstax
from hostile_texts import STEERING, hostile, kept_hostile_run, steering
from tlstax.support.errors import MachineFault
from tlstax.support.untrusted import escaped_json, printable_lines
from tlstax.tools.doctor.check import Check, to_text
from tlstax.tools.probes.drivers.probe_table import listed_text, probe_text
from tlstax.tools.probes.drivers.probed import DriverRow, ListedDriver, ListedDrivers, ProbeDocument
from typed import status_of

COMMANDS = (
    ("report", "last"),
    *(("report", "last", "--format", name) for name in ("html", "md", "csv", "json")),
    ("runs", "list"),
    ("runs", "list", "--json"),
    ("runs", "show"),
    ("runs", "export"),
    ("explain",),
)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory whose one run is of a server that would steer terminals."""
    folder = kept_hostile_run(tmp_path)
    monkeypatch.setenv("TLSTAX_DATA", str(folder))
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_what_a_server_said_steers_nothing(
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
) -> None:
    assert data.is_dir()
    status_of(monkeypatch, *arguments)
    out, err = capsys.readouterr()
    assert out or err
    assert steering(out + err) == set()


@pytest.mark.parametrize("name", ["terminal", "html", "md", "csv", "json"])
def test_nor_does_a_file(data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    assert data.is_dir()
    file = tmp_path / "report"
    assert status_of(monkeypatch, "report", "--format", name, "-o", str(file)) == 0
    assert steering(file.read_bytes().decode()) == set()


def test_a_json_document_keeps_what_it_escapes(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert data.is_dir()
    assert status_of(monkeypatch, "runs", "export") == 0
    exported = json.loads(capsys.readouterr().out)
    assert exported["machine"]["kernel"].endswith(STEERING)


def test_an_error_is_one_line_that_steers_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(**_: object) -> int:
        raise MachineFault(f"the server says: {STEERING}\nand more")

    monkeypatch.setattr("tlstax.tools.doctor.diagnosis.diagnose", refused)
    assert status_of(monkeypatch, "doctor") == 3
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert steering(err) == set()


@pytest.mark.parametrize("colour", [False, True])
def test_tables_of_drivers_and_of_the_machine_steer_nothing(colour: bool) -> None:
    row = DriverRow(
        name="d", product="p", version="1", language="c", failed=STEERING, notes=(STEERING,), server=STEERING
    )
    other = row.model_copy(
        update={
            "failed": None,
            "encrypts_by_default": True,
            "tls_version": STEERING,
            "cipher": STEERING,
            "group": STEERING,
            "statements_on_connect": (STEERING,),
            "options": {"a": STEERING},
        }
    )
    probed = ProbeDocument(
        status="complete",
        server="mysql-9.7",
        server_version=STEERING,
        run="r",
        stopped_because=STEERING,
        drivers=(row, other),
    )
    listed = ListedDrivers.model_validate(
        {
            "drivers": [
                ListedDriver.model_validate(
                    hostile(
                        {
                            "name": "d",
                            "product": "p",
                            "version": "1",
                            "language": "c",
                            "status": "absent",
                            "needs": [],
                            "missing": [],
                        }
                    )
                )
            ]
        }
    )
    for text in (
        probe_text(probed, width=100, colour=colour),
        listed_text(listed, width=100, colour=colour),
    ):
        assert "owned" in text
        assert "\x1b[8m" not in text
        assert steering(text, coloured=colour) == set()


def test_a_diagnosis_steers_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check = Check(name="kernel", status="limited", found=STEERING, meaning=STEERING, remedy=STEERING)
    assert steering(to_text([check])) != set()
    monkeypatch.setattr("tlstax.tools.doctor.diagnosis.diagnose", lambda: [check])
    assert status_of(monkeypatch, "doctor") == 0
    out = capsys.readouterr().out
    assert "owned" in out
    assert steering(out) == set()


def test_every_way_out_is_the_one_way_out() -> None:
    """What writes to the streams itself is seen here; progress has a stream of its own."""
    wrong = [
        str(path)
        for path in Path(tlstax.__file__).parent.glob("cli/*.py")
        if path.name != "streams.py" and re.search(r"sys\.std(out|err)\.write|\bprint\(", path.read_text())
    ]
    assert wrong == []


@given(text=st.text())
def test_no_text_steers(text: str) -> None:
    safe = printable_lines(text)
    assert steering(safe) == set()
    assert printable_lines(safe) == safe


@given(value=st.text(), in_ascii=st.booleans())
def test_escaped_json_says_the_same(value: str, in_ascii: bool) -> None:
    escaped = escaped_json(json.dumps({"value": value}, ensure_ascii=False), in_ascii=in_ascii)
    assert json.loads(escaped) == {"value": value}
    assert steering(escaped) == set()
    assert escaped.isascii() or not in_ascii
