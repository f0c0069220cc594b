"""The base of every type that is written down: checked at the door, unchanged afterwards."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Checked at the door, trusted inside: unknown fields are refused, nothing is changed later."""

    # Whatever is written is written whole, defaults too, and the schemas say so.
    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_serialization_defaults_required=True)

    def as_line(self) -> bytes:
        """The JSON document on one line, with the line's end."""
        return self.model_dump_json().encode() + b"\n"
