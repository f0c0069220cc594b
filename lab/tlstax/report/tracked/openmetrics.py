"""OpenMetrics text, for the textfile collector of Prometheus's node_exporter.

Written so that the older text format, which that collector reads, says the same: gauges alone, without
timestamps. https://prometheus.io/docs/specs/om/open_metrics_spec/

Units are those that Prometheus asks for, the last word of a name: seconds, bytes, per_second. A figure is
three families, its value and the ends of its interval; a ratio's have `to_baseline` in their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from tlstax.report.tracked.numbers import rounded
from tlstax.results.interval import Interval
from tlstax.results.tracked import TrackedFigure, TrackedRun
from tlstax.topics.core import outcome_names
from tlstax.topics.core.untrusted import printable

BASE_UNITS = {
    "us": ("seconds", 1e-6),
    "s": ("seconds", 1.0),
    "B": ("bytes", 1.0),
    "1/s": ("per_second", 1.0),
    "%": ("ratio", 0.01),
    "cores": ("cores", 1.0),
    "1": ("", 1.0),
}
"""For each unit of an outcome the one that Prometheus asks for, and what it is in that."""

UNIT_WORDS = re.compile(r"_(?:per_s|us|s|percent|bytes)(?=_|$)|^bytes_")
"""What an outcome's name says of its unit, which goes to the end."""

TAKEN = frozenset({"study", "case", "job", "instance", "le", "quantile"})
"""Labels that are ours, Prometheus's own or of another meaning there; a factor of that name gets a prefix."""

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Family:
    """A metric and its samples, one for each set of labels."""

    name: str
    unit: str
    about: str
    samples: tuple[tuple[Labels, float], ...]


def openmetrics(run: TrackedRun) -> str:
    """The run's figures, how many blocks each is from, what ran, and when."""
    families = (*_run_families(run), *_figure_families(run), _blocks(run))
    return "".join(map(_text, families)) + "# EOF\n"


def _run_families(run: TrackedRun) -> Iterator[Family]:
    of_run = {"study": run.study}
    started_s = datetime.fromisoformat(run.started_at).timestamp()
    yield Family(
        "tlstax_run_started_timestamp_seconds",
        "seconds",
        "When the run was begun, since 1970.",
        ((of_run, started_s),),
    )
    who = {**of_run, "run": run.run, "tlstax": run.tlstax_version}
    yield Family("tlstax_run_about", "", "Always 1: which run these figures are of.", ((who, 1.0),))
    ran = tuple(({**of_run, "name": name, "version": version}, 1.0) for name, version in run.ran)
    yield Family("tlstax_ran_about", "", "Always 1: servers, libraries and programs that ran.", ran)
    trials = tuple(({**of_run, "verdict": name}, float(number)) for name, number in run.trials)
    yield Family("tlstax_trials", "", "Trials by their verdict; figures are of the valid ones.", trials)
    cases = {figure.label: figure for figure in run.figures}
    seen = tuple(
        ({**_labels(run, figure), "negotiated": figure.negotiated}, 1.0) for figure in cases.values()
    )
    yield Family("tlstax_case_about", "", "Always 1: what each case negotiated.", seen)


def _figure_families(run: TrackedRun) -> Iterator[Family]:
    for figures in _by_outcome(run.figures):
        words = _about(figures[0])
        for end, about in (("", words), ("low", f"{words}: {LOW}"), ("high", f"{words}: {HIGH}")):
            samples = tuple(
                (_labels(run, figure), number)
                for figure in figures
                if (number := _end(figure.interval, end)) is not None
            )
            name, unit, factor = metric_name(figures[0], end)
            if samples:
                in_unit = tuple((labels, rounded(number * factor)) for labels, number in samples)
                yield Family(name, unit, about, in_unit)


LOW, HIGH = "the lower end of the interval", "the upper end of the interval"


def _blocks(run: TrackedRun) -> Family:
    samples = tuple(
        ({**_labels(run, figure), "figure": metric_name(figure, "")[0]}, float(figure.interval.blocks))
        for figure in run.figures
    )
    return Family("tlstax_blocks", "", "From how many blocks each figure is.", samples)


def metric_name(figure: TrackedFigure, end: str) -> tuple[str, str, float]:
    """The metric of a figure or of an end of its interval, its unit, and the factor that leads to that."""
    stem = UNIT_WORDS.sub("", figure.outcome)
    unit, factor = BASE_UNITS[figure.unit]
    if figure.measure == "to the baseline":
        stem, unit, factor = f"{stem}_to_baseline", "ratio", 1.0
    name = "_".join(part for part in ("tlstax", stem, end) if part)
    return (name if not unit or name.endswith(f"_{unit}") else f"{name}_{unit}"), unit, factor


def _about(figure: TrackedFigure) -> str:
    words = outcome_names.title(figure.outcome)
    return f"{words}, to the baseline" if figure.measure == "to the baseline" else words


def _by_outcome(figures: Iterable[TrackedFigure]) -> list[list[TrackedFigure]]:
    """The samples of a family stand together."""
    families: dict[tuple[str, str], list[TrackedFigure]] = {}
    for figure in figures:
        families.setdefault((figure.outcome, figure.measure), []).append(figure)
    return list(families.values())


def _labels(run: TrackedRun, figure: TrackedFigure) -> dict[str, str]:
    levels = {_label_name(name): str(level) for name, level in figure.case.items()}
    return {"study": run.study, "case": figure.label, **levels}


def _label_name(factor: str) -> str:
    name = re.sub(r"\W|^(?=\d)", "_", factor, flags=re.ASCII).strip("_")
    return f"factor_{name}" if name in TAKEN else name


def _end(interval: Interval, end: str) -> float | None:
    return {"": interval.point, "low": interval.low, "high": interval.high}[end]


def _text(family: Family) -> str:
    """The lines of a family; nothing where it has no sample."""
    if not family.samples:
        return ""
    unit = [f"# UNIT {family.name} {family.unit}"] if family.unit else []
    lines = [f"# TYPE {family.name} gauge", *unit, f"# HELP {family.name} {_escaped(family.about)}"]
    lines += [f"{family.name}{_braced(labels)} {number!r}" for labels, number in family.samples]
    return "".join(f"{line}\n" for line in lines)


def _braced(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    r"""As a label's value has it: \\ and \" ; what would steer a terminal, or end a line, is gone."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')
