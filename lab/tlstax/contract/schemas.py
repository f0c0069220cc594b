"""The contract's JSON schemas, generated from its types: `python -m tlstax.contract.schemas` writes them.

They are JSON Schema, draft 2020-12. A job's schema describes what the laboratory writes (every field is
there); an event's what it accepts (a field with a default may be left out).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from tlstax.contract import Event, Job

FOLDER = Path(__file__).parents[3] / "contract"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def job_schema() -> dict[str, Any]:
    """The schema of the one line that a client reads before `go`."""
    return {"$schema": DIALECT, **TypeAdapter(Job).json_schema(mode="serialization")}


def event_schema() -> dict[str, Any]:
    """The schema of every line that a client writes."""
    return {"$schema": DIALECT, "title": "Event", **TypeAdapter(Event).json_schema(mode="validation")}


def documents() -> dict[str, str]:
    """The text of each generated file by its name in `contract/`."""
    schemas = {"job.schema.json": job_schema(), "event.schema.json": event_schema()}
    return {name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in schemas.items()}


def write(folder: Path = FOLDER) -> None:
    """Write the generated files into `folder`."""
    for name, text in documents().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
