"""The generated schemas in contract/ are what the types say, and are schemas."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from tlstax import contract_schemas

CONTRACT = Path(__file__).parents[2] / "contract"


@pytest.mark.parametrize("name", contract_schemas.documents())
def test_generated_file_is_in_sync(name: str) -> None:
    written = (CONTRACT / name).read_text(encoding="utf-8")
    assert written == contract_schemas.documents()[name], (
        f"contract/{name} is stale: run `python -m tlstax.contract_schemas` in lab/"
    )


def test_write_makes_every_document(tmp_path: Path) -> None:
    contract_schemas.write(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == contract_schemas.documents()


@pytest.mark.parametrize("schema", [contract_schemas.job_schema(), contract_schemas.event_schema()])
def test_is_a_json_schema(schema: dict[str, object]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
