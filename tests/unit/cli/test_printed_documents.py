"""What commands print as JSON is what its schema says, and the generated files are what the types say."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema
import pytest

from report_runs import EVERY_RUN, Make, with_document
from tlstax.cli.documents import PRINTED, ROOT, documents, schema_of
from tlstax.plan.order import plan
from tlstax.report.formats.render import render
from tlstax.study import built_in_studies, load_study
from tlstax.tools.doctor.check import Check, to_json
from tlstax.topics.answer.export import exported
from typed import status_of

OF_NAME = {printed.name: printed for printed in PRINTED}


@cache
def schema(name: str) -> dict[str, Any]:
    """Made when it is asked for, as every process of the tests collects this file."""
    return schema_of(OF_NAME[name])


def check(name: str, text: str) -> Any:
    """The document, which must be what the schema of that name says."""
    document = json.loads(text)
    jsonschema.Draft202012Validator(schema(name)).validate(document)
    return document


def test_generated_files_are_in_sync() -> None:
    written = documents()
    assert len(written) > len(PRINTED)
    stale = [path for path, text in written.items() if path.read_text(encoding="utf-8") != text]
    assert [str(path.relative_to(ROOT)) for path in stale] == [], (
        "these are stale: run `python -m tlstax.cli.documents` in lab/"
    )


@pytest.mark.parametrize("name", OF_NAME)
def test_each_is_a_schema_that_refuses_what_it_does_not_know(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"unheard_of": True}, schema(name))


@pytest.mark.parametrize("make", EVERY_RUN.values(), ids=EVERY_RUN)
def test_a_run_is_what_its_schema_says(make: Make) -> None:
    check("run", render(*with_document(make), "json"))


@pytest.mark.parametrize("make", EVERY_RUN.values(), ids=EVERY_RUN)
def test_an_export_is_what_its_schema_says(make: Make) -> None:
    run, _ = with_document(make)
    check("runs-export", json.dumps(exported(run).model_dump(mode="json")))


@pytest.mark.parametrize("name", built_in_studies())
def test_a_plan_is_what_its_schema_says(name: str) -> None:
    found = check("study-plan", plan(load_study(name)).model_dump_json())
    assert next(iter(found)) == "schema"


def test_a_diagnosis_is_what_its_schema_says() -> None:
    check("doctor", to_json([Check(name="perf", status="ok", found="6.1", meaning="", remedy="")]))


@pytest.mark.parametrize("words", [("runs", "list"), ("drivers", "list"), ("specimens", "list")])
def test_a_list_is_what_its_schema_says(
    words: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(monkeypatch, *words, "--json") == 0
    check("-".join(words), capsys.readouterr().out)
