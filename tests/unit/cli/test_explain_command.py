"""`tlstax explain` on kept runs, as a user sees it, and what reports say of the same."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest
from rich.cells import cell_len

from fake_samples import CLIENT, FAULT_STUDY, PLAIN, Stacks, planted, sampled_run, sampled_study
from kept_runs import keep
from tlstax.cli.app import main
from tlstax.records.profiles.components import component_order
from tlstax.records.trial import StoredRun
from tlstax.report.formats.render import render
from tlstax.results.document import RunDocument
from tlstax.results.explanation import Explanation
from tlstax.store import Store
from tlstax.study import Case
from tlstax.topics.answer.document import document
from tlstax.topics.core import palette
from tlstax.topics.explain.sections import explanation_text, steps
from told_runs import explained as explanations

HOSTILE = "RAND_bytes\x1b[2J<script>"
GROUPS = sampled_study(
    {"tls": "off", "fault": "none"},
    {"tls": "1.3", "fault": "none"},
    {"tls": "1.3", "fault": "rand-per-byte"},
)


def faulty(case: Case) -> tuple[Stacks, Stacks]:
    tls = {**PLAIN, "SSL_accept [libssl.so.3]": 200.0} if case.levels["tls"] != "off" else PLAIN
    return (planted(tls, 300.0) if case.levels["fault"] != "none" else tls), CLIENT


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))
    return tmp_path


def kept(data: Path, run: StoredRun) -> None:
    store = Store.open(data / "store.sqlite")
    keep(store, run, run.header.run)
    store.close()


def explained(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["tlstax", "explain", *arguments])
    try:
        return main()
    except SystemExit as end:
        return int(end.code or 0)


def shown(run: StoredRun) -> tuple[StoredRun, RunDocument]:
    """The run and what is said of it."""
    return run, document(run)


def test_the_first_line_names_the_culprit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], data: Path
) -> None:
    kept(data, sampled_run(faulty, GROUPS, noise=0.005))
    assert explained(monkeypatch) == 0
    out = capsys.readouterr().out
    text = " ".join(out.split())
    assert re.match(r"Practically all of the (29|30)\d µs of extra CPU per connection goes into ", text)
    assert "goes into RAND_bytes (libtale.so)" in text
    assert "Measured without it:" in text
    assert "kernel random, server" in out
    assert "Nothing to explain: plaintext, nothing planted again (control)" in text
    assert "--case control" in text
    assert "\x1b" not in out


def test_every_command_that_is_shown_works(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], data: Path
) -> None:
    kept(data, sampled_run(faulty, GROUPS))
    explained(monkeypatch)
    lines = capsys.readouterr().out.splitlines()
    commands = [line.split("tlstax explain ")[1].split() for line in lines if "tlstax explain " in line]
    assert len(commands) == 2
    for command in commands:
        assert explained(monkeypatch, *command) == 0, command


def test_the_document_is_what_the_contract_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], data: Path
) -> None:
    kept(data, sampled_run(faulty))
    assert explained(monkeypatch, "--json", "--case", "fault=rand-per-byte") == 0
    out = capsys.readouterr().out
    found = json.loads(out)
    assert found["schema"] == 3
    whole, first, *_ = found["rows"]
    (culprit,) = (row for row in found["rows"] if row.get("role") == "culprit")
    assert culprit["more"]["function"] == "RAND_bytes"
    assert whole["interval"]["low"] <= whole["interval"]["point"]
    assert (first["role"], first["more"]["side"], first["of"]) == ("component", "server", "difference")
    shares = [row["more"]["unattributed_share"] for row in found["rows"] if row.get("role") == "sampled"]
    assert all(0 <= share < 0.1 for share in shares)
    assert Explanation.model_validate_json(out).whole.case["fault"] == "rand-per-byte"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--case", "fault=none"), "is what the others are compared with"),
        (("--case", "fault=broken"), "is not a level of fault"),
        (("--case", "tls=1.3"), "the run has no such case"),
        (("--case", "colour=red"), "there is no factor 'colour'"),
        (("--case", "fault=rand-per-byte", "--against", "tls"), "--against: 'tls' is not factor=level"),
        (("--case", "control", "--against", "control"), "is what the others are compared with"),
        (("2000",), "no run"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    data: Path,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    kept(data, sampled_run(faulty, number_of_blocks=2))
    assert explained(monkeypatch, *arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("blocks", [1, 2])
def test_a_run_that_cannot_tell_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], data: Path, blocks: int
) -> None:
    run = sampled_run(faulty, number_of_blocks=blocks)
    kept(data, run if blocks == 1 else run.model_copy(update={"trials": run.measured}))
    assert explained(monkeypatch) == 2
    err = capsys.readouterr().err
    assert ("larger --budget" if blocks == 1 else "run it again with --profile") in err


def test_another_baseline_can_be_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], data: Path
) -> None:
    kept(data, sampled_run(faulty, GROUPS))
    chosen = ("--case", "fault=rand-per-byte", "--against", "tls=off,fault=none", "--json")
    assert explained(monkeypatch, *chosen) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"][0]["baseline"]["tls"] == "off"
    assert not any(row.get("role") == "removal measured" for row in found["rows"])


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_the_text_fits_the_terminal(width: int) -> None:
    found = explanations(sampled_run(faulty))[-1]
    text = explanation_text(found, others=[("x" * 90, "tlstax explain …")], width=width)
    assert max(cell_len(line) for line in text.splitlines()) <= max(width, 60)
    assert found.sentences[0][:20].lower() in text.lower()


def test_colour_is_only_used_where_it_is_wanted() -> None:
    found = explanations(sampled_run(faulty))[-1]
    assert "\x1b[" in explanation_text(found, colour=True)
    assert "\x1b" not in explanation_text(found)


def test_the_waterfall_ends_at_the_case() -> None:
    found = explanations(sampled_run(faulty, noise=0.01))[-1]
    bars = steps(found)
    assert bars[0].end_us == found.baseline_us
    assert bars[-1].end_us == found.case_us
    for before, after in pairwise(bars[:-1]):
        assert after.start_us == pytest.approx(before.end_us)
    assert bars[-2].end_us == pytest.approx(found.case_us)
    sizes = [abs(bar.change_us) for bar in bars if bar.kind == "component"]
    assert sizes == sorted(sizes, reverse=True)


def test_every_format_says_where_the_cost_goes() -> None:
    stored, found = shown(sampled_run(faulty, noise=0.005))
    for format_name in ("terminal", "md", "html"):
        text = render(stored, found, format_name, width=120)
        assert "RAND" in text, format_name
        assert "kernel random" in text, format_name
        assert "othing to explain" in text, format_name
    rows = [
        row for row in csv.DictReader(StringIO(render(stored, found, "csv"))) if row["role"] == "component"
    ]
    extra = next(
        row
        for row in rows
        if row["outcome"] == "server: kernel random" and row["case_fault"] == "rand-per-byte"
    )
    assert float(extra["difference"]) == pytest.approx(180, rel=0.02)
    assert float(extra["difference_low"]) < float(extra["difference"]) < float(extra["difference_high"])
    assert (extra["component"], extra["side"]) == ("kernel random", "server")
    told = json.loads(render(stored, found, "json"))["topics"]["explain"]
    assert told["rows"][0]["judgement"] == "alike"


def test_a_run_that_was_not_sampled_says_nothing_of_it() -> None:
    run = sampled_run(faulty)
    stored = run.model_copy(update={"trials": run.measured})
    found = document(stored)
    assert "explain" not in found.topics
    assert "Where the cost goes" not in render(stored, found, "html")


def test_a_hostile_name_steers_nothing() -> None:
    """Functions' names come from a server's file."""
    hostile = {**PLAIN, f"{HOSTILE} [evil.so]": 300.0}
    run = sampled_run(
        lambda case: (hostile if case.levels["fault"] != "none" else PLAIN, CLIENT), FAULT_STUDY
    )
    stored, found = shown(run)
    for format_name in ("terminal", "md", "html", "csv"):
        text = render(stored, found, format_name)
        assert "\x1b" not in text
        assert "<script>" not in text or format_name in {"terminal", "csv"}
    assert "\x1b" not in explanation_text(explanations(run)[-1])


def test_every_component_has_a_colour_of_its_own() -> None:
    assert set(palette.COMPONENTS) == set(component_order()[:-1])
    assert len({ink.light for ink in palette.COMPONENTS.values()}) == len(palette.COMPONENTS)
    assert len({ink.dark for ink in palette.COMPONENTS.values()}) == len(palette.COMPONENTS)


def test_without_treatments_other_libraries_are_explained_and_drawn(
    monkeypatch: pytest.MonkeyPatch, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    libraries = ["openssl-1.1.1-debian", "openssl-3.5-debian"]
    factors = {"workload": ["reconnect"], "connections": [8], "client_tls_library": libraries}
    study = sampled_study({"tls": "off"}, factors=factors)

    def costs(case: Case) -> tuple[Stacks, Stacks]:
        newer = {"HMAC_Init_ex [libcrypto.so.3];EVP_MD_fetch [libcrypto.so.3]": 300.0}
        return PLAIN, {**CLIENT, **(newer if case.levels["client_tls_library"] == libraries[1] else {})}

    kept(data, sampled_run(costs, study))
    assert explained(monkeypatch) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "of extra CPU per connection goes into EVP_MD_fetch (libcrypto.so.3) on the client" in shown
    monkeypatch.setattr("sys.argv", ["tlstax", "flames", "--side", "client", "--folded"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    *_, own = [line for line in capsys.readouterr().out.splitlines() if "EVP_MD_fetch" in line]
    assert own.split()[-2:] == ["0", "300000"]


def test_what_cannot_be_explained_yet_is_what_users_want_and_no_control(
    monkeypatch: pytest.MonkeyPatch, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    libraries = ["openssl-1.1.1-debian", "openssl-3.5-debian"]
    factors = {"workload": ["reconnect"], "connections": [8], "client_tls_library": libraries}
    study = sampled_study({"tls": "off"}, factors=factors)
    kept(data, sampled_run(lambda _: (PLAIN, CLIENT), study, number_of_blocks=1))
    assert explained(monkeypatch) == 2
    said = capsys.readouterr().err
    assert "client over openssl-3.5-debian" in said
    assert "control" not in said
