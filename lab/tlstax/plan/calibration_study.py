"""The study that shows in half a minute how fast a machine is at the parts of a connection. Pure."""

from __future__ import annotations

from tlstax.study import Study, load_study
from tlstax.study.mixes import CHEAPEST_KEY, Mix

NAME = "calibration"

BUDGET_S = 24.0
"""Of measuring; its three servers take some ten seconds to start beforehand."""

CELLS = (
    Mix(tls="off", statements=1, answer_bytes=120),
    Mix(tls="off", statements=8, answer_bytes=120),
    Mix(tls="off", statements=8, answer_bytes=15_000),
    Mix(statements=1, answer_bytes=120),
    Mix(statements=8, answer_bytes=120),
    Mix(statements=8, answer_bytes=15_000),
    Mix(tls="1.2", statements=1, answer_bytes=120),
    Mix(resumption="on", statements=1, answer_bytes=120),
    Mix(group="default", statements=1, answer_bytes=120),
    Mix(certificate="rsa-4096", statements=1, answer_bytes=120),
    Mix(certificate=CHEAPEST_KEY, statements=1, answer_bytes=120),
)
"""Mixes of the study `components` that tell a connection, statements, bytes, handshakes and keys apart: what
a processor is faster or slower at by itself. Each key is a server process, which takes seconds to start."""


def calibration_study(server: str, budget_s: float = BUDGET_S) -> Study:
    """The study of the components with these mixes alone, on this server."""
    fields = load_study("components").model_dump() | {
        "name": NAME,
        "title": "How fast this machine is at the parts of a connection",
        "question": "What do a few connections cost here that were measured on another machine as well?",
        "treatments": tuple(mix.levels() for mix in CELLS),
        "baseline": CELLS[0].levels(),
        "factors": {"server": (server,), "connections": (1, 4)},
        "budget_s": budget_s,
        "precision": 0.005,
        "minimum_blocks": 2,
    }
    return Study.model_validate(fields)
