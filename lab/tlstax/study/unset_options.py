"""Options of drivers that a bundle does not name are unset in it: written once, and not in every line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tlstax.study.level_names import OPTION, UNSET


def filled(study: object) -> object:
    """A study as it was written, each of whose bundles, and what names one, has every option that any has.

    What is no study at all is given back as it is, to be refused by its types.
    """
    if not isinstance(study, Mapping):
        return study
    treatments = study.get("treatments", ())
    if not isinstance(treatments, Sequence) or not all(isinstance(one, Mapping) for one in treatments):
        return study
    options = {name: UNSET for one in treatments for name in one if str(name).startswith(OPTION)}
    if not options:
        return study
    changed: dict[object, object] = {**study, "treatments": tuple({**options, **one} for one in treatments)}
    if isinstance(baseline := study.get("baseline"), Mapping):
        changed["baseline"] = {**options, **baseline}
    published = study.get("published", ())
    if isinstance(published, Sequence):
        changed["published"] = tuple(_beside(figure, options) for figure in published)
    return changed


def _beside(figure: object, options: Mapping[str, str]) -> object:
    """A published figure whose place names the case that stands in for it by its options too."""
    if not isinstance(figure, Mapping) or not isinstance(beside := figure.get("beside"), Mapping):
        return figure
    return {**figure, "beside": {**options, **beside}}
