"""Nothing known is not “no difference seen”: one block says so in every format, not by the sign for alike."""

from __future__ import annotations

import json
import re

import pytest

from report_runs import one_block, with_document
from tlstax.report.core import figures
from tlstax.report.formats.render import FORMATS, render


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "json"])
def test_no_format_calls_one_block_alike(name: str) -> None:
    text = render(*with_document(one_block), name)
    shown = re.sub(r"<(style|script)\b.*?</\1>", "", text, flags=re.DOTALL)
    assert "no interval yet" in " ".join(shown.split())
    assert figures.ALIKE not in shown


def test_its_judgement_in_json_is_one_of_its_own() -> None:
    document = json.loads(render(*with_document(one_block), "json"))
    judgements = {finding["judgement"] for finding in document["findings"]}
    assert judgements == {"baseline", "no interval yet"}
