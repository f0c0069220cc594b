"""Flame graphs: exact costs of stacks, names that mean harm, and the frames that the page shows them in."""

from __future__ import annotations

import gzip
import re
from base64 import b64decode, b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest
from test_report_html import Outline

from fake_sampled_runs import (
    CLIENT,
    ENCRYPTED,
    PLAIN,
    SEND,
    SIGN,
    SQL,
    profile_of,
    profiled_run,
    with_profiles,
)
from fake_trials import untrue
from report_runs import HOSTILE, changed, one_workload_one_level
from tlstax.plan.order import cases
from tlstax.records.profiles.stacks import Frame, folded
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.report.page import flames as section
from tlstax.report.page.html import html
from tlstax.study import Case, load_study
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.topics.answer.case_choice import choice_text, chosen_case
from tlstax.topics.answer.document import document
from tlstax.topics.flames import FlameGraph, costliest, flame_graph, why_none

STUDIES = Path(__file__).parents[3] / "lab" / "tlstax" / "studies"

SVG = (
    '<?xml version="1.0"?><!DOCTYPE svg><svg version="1.1" width="1200" height="100" onload="init(evt)" '
    'viewBox="0 0 1200 100" xmlns="http://www.w3.org/2000/svg"><style type="text/css">text { }</style>'
    '<script type="text/ecmascript"><![CDATA[var a = "&";]]><![CDATA[function init() {}]]></script>'
    '<svg id="frames"><g><title>TITLE</title></g></svg></svg>'
)
"""As inferno writes it, in short."""


def case_of(stored: StoredRun, text: str) -> Case:
    return chosen_case(stored.header.study, text)


def drawn(graph: FlameGraph) -> str:
    return SVG.replace("TITLE", f"{len(graph.lines)} stacks")


def page_of(stored: StoredRun, draw: object = drawn) -> str:
    measured = stored.model_copy(update={"trials": stored.measured})
    return html(stored, document(measured), draw)  # type: ignore[arg-type]


@cache
def whole_page() -> str:
    """The page of the whole study, drawn once."""
    return page_of(profiled_run())


def small_run(**stacks: dict[str, int]) -> StoredRun:
    """Plaintext, its control and TLS 1.3 on kept connections."""
    return with_profiles(one_workload_one_level(2), **stacks)


def profiles_changed(stored: StoredRun, **update: object) -> StoredRun:
    def changing(record: TrialRecord) -> TrialRecord:
        if record.profile is None:
            return record
        return record.model_copy(update={"profile": record.profile.model_copy(update=update)})

    return changed(stored, changing)


def columns(graph: FlameGraph | None) -> dict[str, tuple[int, ...]]:
    """The counts of each stack, as readers of folded stacks take them: one, or two for a difference."""
    assert graph is not None
    many = 2 if graph.differential else 1
    rows = (line.rsplit(" ", many) for line in graph.lines)
    return {stack: tuple(map(int, counts)) for stack, *counts in rows}


def test_a_stack_costs_its_share_of_the_unsampled_cpu_time() -> None:
    stored = profiled_run()
    graph = flame_graph(stored, case_of(stored, "tls=1.3,resumption=off,workload=point-select"), "server")
    assert graph is not None
    assert columns(graph)[SIGN] == (round(28.6 * 0.60 * 1000),)
    assert sum(count for (count,) in columns(graph).values()) == 28_600
    assert graph.subtitle == "28.6 µs of CPU time per operation; 200 samples in 2 blocks"
    assert list(graph.lines) == sorted(graph.lines)


def test_a_difference_has_the_other_case_first_and_zero_for_what_only_one_does() -> None:
    stored = profiled_run()
    case, baseline = (
        case_of(stored, f"tls={tls},resumption=off,workload=point-select") for tls in ("1.3", "off")
    )
    found = columns(flame_graph(stored, case, "server", baseline))
    assert found[SQL] == (15_600, 5_720)
    assert found[SEND] == (7_800, 4_290)
    assert found[SIGN] == (0, 17_160)
    assert columns(flame_graph(stored, baseline, "server", case))[SQL] == (5_720, 15_600)


def test_the_mean_is_over_blocks_in_which_both_cases_were_sampled() -> None:
    stored = profiled_run(blocks=3)
    case, baseline = (
        case_of(stored, f"tls={tls},workload=reconnect,resumption=off") for tls in ("1.3", "off")
    )

    def lose(record: TrialRecord) -> TrialRecord:
        lost = record.trial.profiled and record.trial.case == case and record.trial.block == 1
        return record.model_copy(update={"profile": None}) if lost else record

    graph = flame_graph(changed(stored, lose), case, "server", baseline)
    assert graph is not None
    assert graph.blocks == 2
    assert graph.subtitle.endswith("200 and 200 samples in 2 blocks")


def test_where_the_kernel_could_not_be_sampled_the_user_time_is_shared_out_and_said() -> None:
    stored = profiles_changed(profiled_run(), kernel=False)
    graph = flame_graph(stored, case_of(stored, "tls=1.3,resumption=off,workload=point-select"), "server")
    assert graph is not None
    assert graph.cost_us == pytest.approx(28.6 * 0.75)
    assert "of user CPU time per operation" in graph.subtitle


def test_a_name_that_would_break_a_line_or_a_terminal_does_not() -> None:
    stack = folded([Frame("main", "mysqld"), Frame(f"{HOSTILE}\n;x 12", "mysqld")])
    stored = profiled_run(encrypted={**ENCRYPTED, stack: 10})
    graph = flame_graph(stored, case_of(stored, "tls=1.3,resumption=off,workload=reconnect"), "server")
    assert graph is not None
    assert graph.text().count("\n") == len(graph.lines)
    assert "\x1b" not in graph.text()
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in graph.text()
    (line,) = [line for line in graph.lines if "script" in line]
    assert line.startswith("main [mysqld];<script>")
    assert line.count(";") == 1


def test_the_costliest_is_what_adds_most_to_its_baseline() -> None:
    stored = profiled_run()
    expected = case_of(stored, "tls=1.3,resumption=off,workload=reconnect")
    assert costliest(stored, "server") == expected
    with pytest.raises(UserMistake, match=r"no block .* a treatment and its baseline"):
        costliest(changed(stored, lambda r: r.model_copy(update={"profile": None})), "server")


def test_what_was_not_sampled_is_told_apart() -> None:
    stored = profiled_run()
    case = case_of(stored, "tls=1.3,resumption=off,workload=reconnect")
    unsampled = stored.model_copy(update={"trials": stored.measured})
    assert "was not profiled" in why_none(unsampled, "server")
    guest = profiles_changed(stored, server=None)
    assert flame_graph(guest, case, "server") is None
    assert flame_graph(guest, case, "client") is not None
    assert "the server's process was out of reach" in why_none(guest, "server", case)
    lost = changed(stored, lambda r: r.model_copy(update={"profile": profile_of({}, {})}))
    assert flame_graph(lost, case, "server") is None
    assert "no block of run" in why_none(lost, "server", case)


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*.toml")), ids=lambda path: path.stem)
def test_what_names_a_case_chooses_it(path: Path) -> None:
    study = load_study(path.stem)
    every = cases(study)
    for case in every[:: max(1, len(every) // 12)]:
        assert chosen_case(study, choice_text(case, study)) == case


def test_the_page_has_every_treatment_against_its_baseline_and_each_case_by_itself() -> None:
    outline = Outline(whole_page())
    text = outline.text()
    names = [value for name, value in outline.attributes if name == "title" and "Flame graph" in value]
    assert names[0] == "Flame graph. Server: TLS 1.3 against plaintext"
    assert len([name for name in names if " against " in name]) == 2 * 2 * 3
    assert len([name for name in names if " against " not in name]) == 2 * 2 * 4
    assert "28.6 µs instead of 26.0 µs of CPU time per operation; 200 and 200 samples in 2 blocks." in text
    assert "tlstax flames 20261121-195500-ab12 --case" in text


def test_the_command_on_the_page_draws_a_pair_that_the_page_has_not() -> None:
    stored = profiled_run()
    found = re.search(r"tlstax flames (\S+) --case (\S+) --against (\S+) ", Outline(whole_page()).text())
    assert found is not None
    run, case, against = found.groups()
    assert run == stored.header.run
    assert flame_graph(stored, case_of(stored, case), "server", case_of(stored, against)) is not None


def documents_of(page: str) -> list[str]:
    return [value for name, value in Outline(page).attributes if name == "srcdoc"]


def test_the_page_runs_nothing_but_the_script_of_its_frames() -> None:
    page = whole_page()
    outline = Outline(page)
    assert not {"script", "object", "embed", "img", "form"} & set(outline.tags)
    assert {value for name, value in outline.attributes if name == "sandbox"} == {"allow-scripts"}
    assert outline.tags.count("iframe") == len(documents_of(page)) > 20
    scripts = set(re.findall(r"<script>(.*?)</script>", documents_of(page)[0], re.DOTALL))
    (script,) = scripts
    digest = b64encode(sha256(script.encode()).digest()).decode()
    (policy,) = [value for _, value in outline.attributes if "default-src" in value]
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    )
    assert "unsafe-inline" not in policy.split("script-src")[1]
    assert "onload" not in documents_of(page)[0]


def test_a_report_without_samples_allows_no_script() -> None:
    stored = small_run()
    for page in (page_of(stored.model_copy(update={"trials": stored.measured})), page_of(stored, None)):
        assert "script-src" not in page
        assert "iframe" not in Outline(page).tags


def test_a_picture_comes_out_of_its_frame_as_it_went_in() -> None:
    found = re.search(r'<div id="packed" hidden>([^<]+)<', documents_of(whole_page())[0])
    assert found is not None
    picture = gzip.decompress(b64decode(found[1])).decode()
    assert picture.startswith('<svg version="1.1" width="1200" height="100" viewBox=')
    assert "5 stacks" in picture
    assert "<script" not in picture


def test_nothing_that_a_function_is_called_becomes_part_of_the_page() -> None:
    stack = folded([Frame(HOSTILE, HOSTILE)])
    stored = small_run(encrypted={stack: 10, **ENCRYPTED}, plain={stack: 5, **PLAIN})
    page = page_of(stored, lambda graph: SVG.replace("TITLE", graph.lines[0]))
    assert "alert(" not in page
    assert "\x1b" not in page


def test_a_graph_that_cannot_be_drawn_is_said_once() -> None:
    def fail(_: FlameGraph) -> str:
        raise MachineFault("tlstax-flames has not been built", remedy="build it")

    text = Outline(page_of(small_run(), fail)).text()
    assert text.count("Tlstax-flames has not been built; build it.") == 1
    assert "Every outcome as a table" in text


def test_samples_of_no_valid_trial_are_said_to_be_missing() -> None:
    stored = changed(small_run(), lambda record: untrue(record, "not resumed"))
    text = Outline(page_of(stored)).text()
    assert "No block of run 20261121-195500-ab12 has valid samples of a treatment and its baseline" in text


def test_what_would_make_the_page_too_large_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(section, "MOST_BYTES", 6_000)
    page = page_of(small_run())
    number = len(documents_of(page))
    assert 1 < number < 6
    assert f"{6 - number} more graphs would make this page too large" in Outline(page).text()


def test_the_clients_side_has_its_own_stacks() -> None:
    stored = profiled_run()
    graph = flame_graph(stored, case_of(stored, "tls=1.3,resumption=off,workload=reconnect"), "client")
    assert columns(graph).keys() == CLIENT.keys()
