"""What a study cannot have where its load comes from several machines. Pure."""

from __future__ import annotations

from tlstax.study.design import Study
from tlstax.study.factor import Of
from tlstax.study.factors import FACTORS
from tlstax.support.errors import UserMistake

RATHER = "leave it out, or --clients-on"

_IN_TURN: tuple[Of, ...] = ("client", "server", "load", "way", "distance")
"""What is refused first: the client, what it runs on, what it does, then what lies between."""


def check_shared(study: Study) -> None:
    """UserMistake where the study asks for what only a client on the server's own machine can do."""
    if study.capture:
        raise UserMistake(
            "--capture needs a client on the server's own machine, where its tap is", remedy=RATHER
        )
    factors = [factor for of in _IN_TURN for factor in FACTORS.values() if factor.of == of]
    for case in study.included():
        for factor in factors:
            refused = factor.beside(getattr(case, factor.name)) if factor.beside is not None else None
            if refused is not None:
                what, why = refused
                raise UserMistake(f"{what}, where the load comes from other machines: {why}", remedy=RATHER)
