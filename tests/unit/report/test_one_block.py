"""Nothing known is not “alike”: one block, or two that scatter, say so in every format."""

from __future__ import annotations

import json
import re

import pytest

from report_runs import one_block, one_workload_one_level, with_document
from tlstax.records.trial import StoredRun
from tlstax.report.formats.render import FORMATS, render
from tlstax.topics.core import figures


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "json"])
def test_no_format_calls_one_block_alike(name: str) -> None:
    text = render(*with_document(one_block), name)
    shown = re.sub(r"<(style|script)\b.*?</\1>", "", text, flags=re.DOTALL)
    assert "one block" in " ".join(shown.split())
    assert figures.ALIKE not in shown


def test_what_may_differ_tenfold_is_not_alike_either() -> None:
    found = with_document(two_blocks_that_scatter)
    rates = [
        each for each in json.loads(render(*found, "json"))["findings"] if each["outcome"] == "ops_per_s"
    ]
    assert {each["judgement"] for each in rates} == {"baseline", "inconclusive"}
    shown = render(*found, "terminal")
    marks = re.findall(rf"\[too wide\] ([{figures.ALIKE}{figures.UNKNOWN}])", shown)
    assert marks
    assert set(marks) == {figures.UNKNOWN}
    assert "factor of ten" in " ".join(shown.split())


def two_blocks_that_scatter() -> StoredRun:
    return one_workload_one_level(blocks=2, noise=1.5)


def test_its_judgement_in_json_is_one_of_its_own() -> None:
    document = json.loads(render(*with_document(one_block), "json"))
    judgements = {finding["judgement"] for finding in document["findings"]}
    assert judgements == {"baseline", "inconclusive"}
