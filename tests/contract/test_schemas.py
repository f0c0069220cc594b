"""The generated schemas in contract/ are what the types say, and are schemas."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from tlstax.contract import schemas

CONTRACT = Path(__file__).parents[2] / "contract"


@pytest.mark.parametrize("name", schemas.documents())
def test_generated_file_is_in_sync(name: str) -> None:
    written = (CONTRACT / name).read_text(encoding="utf-8")
    assert written == schemas.documents()[name], (
        f"contract/{name} is stale: run `python -m tlstax.contract.schemas` in lab/"
    )


def test_write_makes_every_document(tmp_path: Path) -> None:
    schemas.write(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == schemas.documents()


@pytest.mark.parametrize("schema", [schemas.job_schema(), schemas.event_schema()])
def test_is_a_json_schema(schema: dict[str, object]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
