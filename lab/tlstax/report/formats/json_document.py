"""The run's document as JSON, as `--json` prints it: the fields of `records.RunDocument`."""

from __future__ import annotations

from tlstax.results.document import RunDocument
from tlstax.topics.core.untrusted import escaped_json


def json_document(document: RunDocument) -> str:
    """One JSON document, indented, with a line break at its end."""
    return escaped_json(document.model_dump_json(by_alias=True, indent=2) + "\n")
