"""The comparer of recorded runs: what moved is found again, and each way of losing a number is seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from moved_numbers import Cells, Dropped, Moved, Renamed, Rule
from same_numbers import (
    compare,
    compare_json,
    compare_rows,
    numbers_gone,
    read_json,
    read_rows,
    told,
    words_of_page,
)

Document = dict[str, Any]


def interval(point: float, half: float = 0.5) -> Document:
    return {"point": point, "low": point - half, "high": point + half, "confidence": 0.95, "blocks": 5}


def case(trust: int) -> Document:
    return {"client": "pymysql-1.2", "trust": trust}


OLD: Document = {
    "schema": 2,
    "trials": {"valid": 12, "invalid": 0},
    "findings": [
        {
            "outcome": "ops_per_s",
            "unit": "1/s",
            "case": case(128),
            "baseline": case(1),
            "value": 900.0,
            "baseline_value": 1000.0,
            "ratio": interval(0.9, 0.01),
            "caveats": ["5 untold"],
        }
    ],
    "trust": [
        {
            "case": case(number),
            "label": f"trusting {number} authorities",
            "authorities": number,
            "reads": reads,
            "more_us": interval(more_us),
            "more_cpu_us": interval(more_us / 2),
            "judgement": "higher",
        }
        for number, reads, more_us in ((128, 1.0, 812.25), (512, 2.0, 3301.5))
    ],
    "bulk": [
        {
            "case": {"tls": "1.3"},
            "points": [
                {"payload_bytes": size, "mib_per_s": interval(size / 7), "is_small": size < 100}
                for size in (64, 65536)
            ],
        }
    ],
    "profiling": {"costs": {"ops_per_s": interval(0.98, 0.01)}},
}
FINE = (
    Dropped("schema", "it counts the forms"),
    Renamed("trials", "counts.trials"),
    Moved("findings[].value", "findings", "{outcome}", "value"),
    Moved("findings[].baseline_value", "findings", "{outcome}", "beside_value"),
    Moved("findings[].ratio", "findings", "{outcome}", "change"),
    Moved("findings[].unit", "findings", "{outcome}", "unit"),
    Moved("trust[].more_us", "trust", "latency_mean_us", "change"),
    Moved("trust[].more_cpu_us", "trust", "client_cpu_us_per_op", "change"),
    Moved("trust[].judgement", "trust", "latency_mean_us", "judgement"),
    Moved("trust[].authorities", "trust", "latency_mean_us", "more.authorities"),
    Moved("trust[].reads", "trust", "latency_mean_us", "more.reads"),
    Moved("bulk[].points[]", "bulk", by=("payload_bytes",), without=("workload",)),
    Moved("profiling.costs{}", "profiling", "{key}", "change"),
)
COARSE = (
    *(rule for rule in FINE if not rule.old.startswith("trust")),
    Moved("trust[]", "trust"),
)
"""As FINE, but for the topic `trust`, of which any outcome and field may have any value."""


def row(topic: str, outcome: str, levels: Document, **rest: Any) -> Document:
    return {"topic": topic, "outcome": outcome, "case": levels, **rest}


def in_rows(old: Document) -> Document:
    """The document as typed rows have it."""
    (finding,), (curve,) = old["findings"], old["bulk"]
    about = {"beside": finding["baseline"], "unit": finding["unit"]}
    values = {"value": finding["value"], "beside_value": finding["baseline_value"]}
    rows = [row("findings", "ops_per_s", finding["case"], **about, **values, change=finding["ratio"])]
    for one in old["trust"]:
        more = {"more": {"authorities": one["authorities"], "reads": one["reads"]}}
        for outcome, change in (("latency_mean_us", "more_us"), ("client_cpu_us_per_op", "more_cpu_us")):
            beside = {"beside": {**one["case"], "trust": 1}, "judgement": one["judgement"]}
            rows.append(row("trust", outcome, one["case"], **beside, change=one[change], **more))
    for point in curve["points"]:
        levels = {**curve["case"], "workload": f"rows-1x{point['payload_bytes']}"}
        more = {"more": {"payload_bytes": point["payload_bytes"], "is_small": point["is_small"]}}
        rows.append(row("bulk", "mib_per_s", levels, value=point["mib_per_s"], **more))
    for outcome, cost in old["profiling"]["costs"].items():
        rows.append(row("profiling", outcome, {}, change=cost))
    return {"schema": 3, "counts": {"trials": old["trials"]}, "rows": rows}


def gone(old: Document, new: Document, rules: tuple[Rule, ...] = ()) -> list[str]:
    before, now = (read_json(json.dumps(one)) for one in (old, new))
    return [f"{one.place}: {one.what}" for one in compare_json(before, now, rules)]


def swap(found: Document, one: str, other: str) -> None:
    found[one], found[other] = found[other], found[one]


def test_nothing_is_gone_where_nothing_moved() -> None:
    assert gone(OLD, deepcopy(OLD)) == []


@pytest.mark.parametrize("rules", [FINE, COARSE], ids=["fine", "coarse"])
def test_what_moved_into_rows_is_found(rules: tuple[Rule, ...]) -> None:
    assert gone(OLD, in_rows(OLD), rules) == []


def test_what_moved_is_gone_without_a_rule() -> None:
    found = gone(OLD, in_rows(OLD), tuple(rule for rule in FINE if rule.old != "trust[].more_us"))
    assert len(found) == 2 * 5
    assert found[0] == "trust[].more_us.point: trust[0].more_us.point = 812.25 is not there"


def test_a_dropped_number_needs_its_reason() -> None:
    new = in_rows(OLD)
    for one in new["rows"]:
        one.get("more", {}).pop("reads", None)
    assert len(gone(OLD, new, FINE)) == 2
    rules = tuple(rule for rule in FINE if rule.old != "trust[].reads")
    assert gone(OLD, new, (*rules, Dropped("trust[].reads", "it is not counted"))) == []


FAULTS: dict[str, Callable[[Document], object]] = {
    "a digit": lambda new: new["rows"][1]["change"].update(point=812.26),
    "a digit of an end": lambda new: new["rows"][3]["change"].update(high=3302.1),
    "a row": lambda new: new["rows"].pop(2),
    "two values of a row": lambda new: swap(new["rows"][1]["more"], "authorities", "reads"),
    "two ends": lambda new: swap(new["rows"][1]["change"], "low", "high"),
    "point and end": lambda new: swap(new["rows"][4]["change"], "point", "high"),
    "two cases": lambda new: new["rows"][1].update(case=case(512)),
    "two values of a finding": lambda new: swap(new["rows"][0], "value", "beside_value"),
    "what it is beside": lambda new: new["rows"][0].update(beside=case(2)),
    "two sizes": lambda new: swap_between(new["rows"][5], new["rows"][6], "value"),
    "yes for no": lambda new: new["rows"][5]["more"].update(is_small=False),
    "a word": lambda new: new["rows"][1].update(judgement="lower"),
    "an outcome": lambda new: new["rows"][7].update(outcome="latency_mean_us"),
    "a renamed number": lambda new: new["counts"]["trials"].update(valid=11),
}


def swap_between(one: Document, other: Document, field: str) -> None:
    one[field], other[field] = other[field], one[field]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(fault: str) -> None:
    new = in_rows(deepcopy(OLD))
    FAULTS[fault](new)
    assert gone(OLD, new, FINE) != []


@pytest.mark.parametrize(
    "fault", ["a digit", "a digit of an end", "a row", "two ends", "point and end", "two cases"]
)
def test_a_coarse_rule_sees_them_too(fault: str) -> None:
    new = in_rows(deepcopy(OLD))
    FAULTS[fault](new)
    assert gone(OLD, new, COARSE) != []


@pytest.mark.parametrize(
    "change",
    [
        lambda new: new["findings"][0].update(value=900.01),
        lambda new: swap(new["findings"][0], "value", "baseline_value"),
        lambda new: new["trust"].pop(),
        lambda new: new["trust"].reverse(),
        lambda new: new["findings"][0].update(noise_floor=0.1) or new["findings"][0].pop("unit"),
    ],
    ids=["a digit", "two values", "an element", "the order", "a field"],
)
def test_what_stayed_at_its_place_is_held_there(change: Callable[[Document], object]) -> None:
    new = deepcopy(OLD)
    change(new)
    assert gone(OLD, new) != []


def test_nothing_may_become_a_number() -> None:
    assert gone({"noise": None}, {"noise": 0.5}) == ["noise: noise = null is 0.5"]
    assert gone({"noise": None}, {}) == []


def test_sentences_may_change_and_digits_may_be_written_otherwise() -> None:
    new = deepcopy(OLD)
    new["findings"][0]["caveats"] = ["5 inconclusive"]
    new["findings"][0]["value"] = 900
    assert gone(OLD, new) == []


ROWS = [
    {"role": "treatment", "outcome": "ops_per_s", "case_tls": "1.3", "value": "9.5", "ratio": "0.9"},
    {"role": "component", "outcome": "server: TLS", "value": "9", "baseline_value": "2", "blocks": "4"},
    {"role": "component extra", "outcome": "server: TLS", "value": "7", "value_low": "6", "blocks": "4"},
]
NEW_ROWS = [
    {"topic": "component", "outcome": "server: TLS", "value": "9", "beside_value": "2", "change": "7"}
    | {"change_low": "6", "blocks": "4"},
    {"topic": "treatment", "outcome": "ops_per_s", "case_tls": "1.3", "value": "9.5", "change": "0.9"},
]
EXTRA = {"role": "topic", "value": "change", "value_low": "change_low"}
LINES = (
    Cells("component extra", role="component", columns=EXTRA),
    Cells("*", columns={"role": "topic", "baseline_*": "beside_*", "ratio": "change"}),
)


def test_rows_are_found_in_any_order_and_under_new_names() -> None:
    assert list(compare_rows(ROWS, ROWS[::-1], ())) == []
    assert list(compare_rows(ROWS, NEW_ROWS, LINES)) == []
    assert len(list(compare_rows(ROWS, NEW_ROWS, ()))) == len(ROWS)


@pytest.mark.parametrize(
    "change",
    [
        lambda new: new[0].update(change="7.1"),
        lambda new: new.pop(1),
        lambda new: swap(new[0], "value", "beside_value"),
        lambda new: new[1].pop("change"),
        lambda new: new[1].update(case_tls="1.2"),
    ],
    ids=["a digit", "a row", "two cells", "a cell", "a level"],
)
def test_a_fault_in_rows_is_seen(change: Callable[[list[Document]], object]) -> None:
    new = deepcopy(NEW_ROWS)
    change(new)
    (found,) = compare_rows(ROWS, new, LINES)
    assert "nearest row differs" in found.what


def test_options_are_the_same_in_any_order_and_others_are_not(tmp_path: Path) -> None:
    rows = []
    for options in ("b=1; a=2", "a=2; b=1", "a=1; b=2"):
        file = tmp_path / "rows.csv"
        file.write_text(f"role,case_options\ntreatment,{options}\n", encoding="utf-8")
        rows.append(read_rows(file))
    assert list(compare_rows(rows[0], rows[1], ())) == []
    assert len(list(compare_rows(rows[0], rows[2], ()))) == 1


def test_one_row_does_not_stand_for_two() -> None:
    assert len(list(compare_rows([ROWS[0], ROWS[0]], [ROWS[0]], ()))) == 1


def test_numbers_of_texts_are_counted() -> None:
    assert numbers_gone(["1,234 of 5 untold", "+3.1 %"], ["5 of 1,234 inconclusive, +3.1 %"]) == []
    assert numbers_gone(["3.1 and 3.1"], ["3.1 and 3.2"]) == ["3.1"]


def test_a_page_is_its_words() -> None:
    page = "<style>p{top:1px}</style><p>One <b>2</b></p><iframe srcdoc='&lt;p&gt;3&lt;/p&gt;'></iframe>"
    assert words_of_page(page) == ["One", "2", "3"]


def test_folders_are_compared_and_texts_laid_side_by_side(tmp_path: Path) -> None:
    files = {"report.json": '{"a": 1.25}', "report.csv": "role,value\nx,1\n", "report-80.txt": "12 told\n"}
    changed = {"report.json": '{"a": 1.26}', "report.csv": "role,value\nx,2\n", "report-80.txt": "13 told\n"}
    for folder, content in (("old", files), ("new", changed)):
        (tmp_path / folder / "tax").mkdir(parents=True)
        for name, text in content.items():
            (tmp_path / folder / "tax" / name).write_text(text)
    (tmp_path / "old" / "tax" / "report.md").write_text("12\n")
    same = compare(tmp_path / "old", tmp_path / "old", tmp_path / "none")
    assert (same.gone, same.files, same.alike, same.numbers, same.rows) == ({}, 4, 4, 1, 1)
    found = compare(tmp_path / "old", tmp_path / "new", tmp_path / "differences")
    assert sorted(found.gone) == [
        "report-80.txt: numbers in a text",
        "report.csv: row of role x",
        "report.json: a",
        "report.md: the whole file",
    ]
    assert "-12 told" in (tmp_path / "differences" / "tax" / "report-80.txt.diff").read_text()
    assert "tax: a = 1.25 is 1.26" in told(found)
