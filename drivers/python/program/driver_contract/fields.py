"""A JSON object read field by field: what is missing, of another type or left over is a bad job."""

from __future__ import annotations

from typing import Any, TypeVar

from driver_contract.failure import bad_job

T = TypeVar("T")
REQUIRED: Any = object()


class Fields:
    """One JSON object of the job, of which every field is to be taken."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise bad_job(f"{where} is not an object in this job")
        self._left: dict[str, Any] = dict(value)
        self._where = where

    def take(self, name: str, type_: type[T], default: Any = REQUIRED) -> T:
        """The field, which has this type; `default` where it is absent or null."""
        value = self._left.pop(name, None)
        if value is None:
            if default is REQUIRED:
                raise bad_job(f"{self._where} has no {name} in this job")
            value = default
        elif type_ is float and type(value) is int:
            value = float(value)
        elif type(value) is not type_:
            raise bad_job(f"{self._where}.{name} is not a {type_.__name__} in this job")
        taken: T = value
        return taken

    def maybe(self, name: str, type_: type[T]) -> T | None:
        """The field, or None where it is absent or null."""
        value: T | None = self.take(name, type_, False) if self._left.get(name) is not None else None
        self._left.pop(name, None)
        return value

    def refuse(self, name: str, why: str) -> None:
        """A field that this client can do nothing with has to be empty, false or absent."""
        if self._left.pop(name, None):
            raise bad_job(f"{self._where}.{name}: {why}")

    def ignore(self, name: str) -> None:
        """A field that has no meaning for this client."""
        self._left.pop(name, None)

    def end(self) -> None:
        """Nothing is left over."""
        if self._left:
            raise bad_job(f"{self._where} has a field that this client does not know: {min(self._left)}")
