"""An advice without what says whose server it is: hosts, certificates' names and digests, programs. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tlstax.results.advice import Advice
from tlstax.support.text import SHORTEST_NAME, whole_names

SERVER, NAME = "the server", "(left out)"

KINDS = frozenset({"change", "source", "status", "danger", "topic"})
"""Fields whose words are the document's own."""


def redacted(found: Advice) -> Advice:
    """The same advice, every name in it replaced, wherever it appears."""
    hosts = _hosts(found)
    words = {name: SERVER if name in hosts else NAME for name in _names(found)}
    pattern = re.compile(whole_names(words))

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: own if key in KINDS else without(own) for key, own in value.items()}
        if isinstance(value, list):
            return [without(own) for own in value]
        return pattern.sub(lambda name: words[name[0]], value) if isinstance(value, str) else value

    return Advice.model_validate(without(json.loads(found.model_dump_json(by_alias=True))))


def _hosts(found: Advice) -> tuple[str, ...]:
    server = found.inspected.server
    return server, server.rpartition(":")[0]


def _names(found: Advice) -> set[str]:
    return {name for name in _all_names(found) if len(name) >= SHORTEST_NAME}


def _all_names(found: Advice) -> Iterator[str]:
    yield from _hosts(found)
    for certificate in found.inspected.chain:
        yield from (certificate.subject, certificate.issuer, certificate.sha256, *certificate.names)
        for part in (*certificate.subject.split(","), *certificate.issuer.split(",")):
            yield part.partition("=")[2]
    for program in found.inspected.inside.programs:
        yield program.program
