"""What B changes beside A, in a sentence for each group of cases."""

from __future__ import annotations

from tlstax.findings.core.wording import capitalised, change_words, percent
from tlstax.results.interval import DIFFERENCES
from tlstax.results.two_sides import SideEffect
from tlstax.study import Sides, Study
from tlstax.study.labels import label_levels
from tlstax.study.outcomes import OUTCOMES


def side_words(study: Study, sides: Sides) -> tuple[str, str]:
    """What A and B are called."""
    return label_levels(sides.a, study), label_levels(sides.b, study)


def effect_sentences(effects: tuple[SideEffect, ...], deciding: str) -> list[str]:
    """For each group what B changes of the outcome that decides, and what would have been seen."""
    return [_sentence(effect) for effect in effects if effect.outcome == deciding]


def _sentence(effect: SideEffect) -> str:
    of = f"{OUTCOMES[effect.outcome].words} of B beside A"
    words = f"{capitalised(effect.label)}: {of} {change_words(effect.change)}"
    width = effect.change.half_width
    if effect.judgement in DIFFERENCES or width is None:
        return words
    if effect.judgement != "no difference seen":
        return f"{words}: {effect.judgement}"
    return f"{words}: no difference seen, and one of {percent(2 * width)} would have been"


def twin_label(place: int) -> str:
    """What a row of twins is called: of A's first, then of B's."""
    return f"{'AB'[place]}’s second process beside its first"
