"""What B changes beside A, in a sentence for each group of cases."""

from __future__ import annotations

from tlstax.findings.core.wording import capitalised, change_words, verdict_words
from tlstax.results.interval import DIFFERENCES
from tlstax.results.two_sides import SideEffect
from tlstax.study import Sides, Study
from tlstax.study.labels import label_levels
from tlstax.study.outcomes import OUTCOMES


def side_words(study: Study, sides: Sides) -> tuple[str, str]:
    """What A and B are called."""
    return label_levels(sides.a, study), label_levels(sides.b, study)


def effect_sentences(effects: tuple[SideEffect, ...], deciding: str, within: float) -> list[str]:
    """For each group what B changes of the outcome that decides, and whether that is proved to be nothing.

    `within` is the factor within which two things count as alike.
    """
    return [_sentence(effect, within) for effect in effects if effect.outcome == deciding]


def _sentence(effect: SideEffect, within: float) -> str:
    of = f"{OUTCOMES[effect.outcome].words} of B beside A"
    words = f"{capitalised(effect.label)}: {of} {change_words(effect.change)}"
    if effect.judgement in DIFFERENCES:
        return words
    return f"{words}: {verdict_words(effect.judgement, within)}"


def twin_label(place: int) -> str:
    """What a row of twins is called: of A's first, then of B's."""
    return f"{'AB'[place]}’s second process beside its first"
