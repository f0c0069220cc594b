"""Figures of a run for tools that follow them from run to run: as rows, and in each format that they read.

The formats: Bencher's Metric Format, JSON for github-action-benchmark, and OpenMetrics for Prometheus.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from tlstax.records.trial import StoredRun
from tlstax.results.rows import Of, Row
from tlstax.stats.estimates import counts_of
from tlstax.stats.series import Logs, Series, series_of
from tlstax.stats.wording import negotiated, percent
from tlstax.study.labels import full_label, label_levels
from tlstax.study.outcomes import OUTCOMES, UNITS
from tlstax.support.errors import UserMistake
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.support.untrusted import escaped_json, printable
from tlstax.topics.core import outcome_names

TrackedFormat = Literal["smaller-is-better", "bigger-is-better", "bencher", "openmetrics"]

DIGITS = 6
"""Significant digits: rounding is then far below the scatter of any run."""

WORDS_OF_UNITS = {"us": "µs", "1/s": "per second", "1": ""}
"""For the action, which shows them as they are."""

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


def tracked(stored: StoredRun, outcomes: Sequence[str], form: TrackedFormat) -> str:
    """The figures of these outcomes in that format.

    UserMistake for a run that did not come to its end, whose figures would stand among those of whole runs
    unnoticed, for one that has no figure of these outcomes, and for a format that has no place for any.
    """
    figures = tracked_rows(stored, outcomes)
    match form:
        case "smaller-is-better":
            return benchmark_action(stored, figures, smaller_is_better=True)
        case "bigger-is-better":
            return benchmark_action(stored, figures, smaller_is_better=False)
        case "bencher":
            return bencher(stored.header.study.name, figures)
        case "openmetrics":
            return openmetrics(stored, figures)


def tracked_rows(stored: StoredRun, outcomes: Sequence[str]) -> tuple[Row, ...]:
    """The figures: of every case but controls, itself and as a ratio to its baseline. UserMistake as above.

    Each is a geometric mean over the case's blocks with its interval; only valid trials count. A ratio is in
    the unit "1". `label` names the case within its study, `baseline` has the levels that a ratio is to.
    """
    header = stored.header
    if stored.status != "complete":
        raise UserMistake(
            f"run {header.run} is {stored.status}, and only a run that is complete is handed on",
            remedy=f"`tlstax study run {header.study.name} --resume {header.run}` goes on with it",
        )
    found = tuple(_rows(stored, series_of(stored), outcomes))
    if not found:
        raise UserMistake(
            f"run {header.run} has no figure of {', '.join(outcomes)}",
            remedy="`tlstax report --format csv` has all that it yields",
        )
    return found


def _rows(stored: StoredRun, series: Series, outcomes: Sequence[str]) -> Iterator[Row]:
    records = grouped(stored.valid, lambda record: record.trial.case.key())
    for case in series.cases.values():
        baseline = series.own_baseline(case.levels)
        for outcome in outcomes:
            logs: dict[Of, Logs] = {"value": series.logs(case.levels, outcome)}
            if case.role != "baseline":
                logs["ratio"] = series.log_ratios(case.levels, baseline, outcome)
            for of, own in logs.items() if case.key() in records else ():
                yield from series.rows(
                    own,
                    outcome=outcome,
                    unit=UNITS[outcome] if of == "value" else "1",
                    label=full_label(case, series.study),
                    case=case.levels,
                    baseline=baseline,
                    of=of,
                    negotiated=negotiated(records[case.key()]),
                )


def rounded(number: float) -> float:
    """The number to N significant digits."""
    return float(f"{number:.{DIGITS}g}")


def as_json(document: object) -> str:
    """One JSON document, indented, with a line break at its end."""
    return escaped_json(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def bencher(study: str, figures: Sequence[Row]) -> str:
    """Bencher Metric Format: each case has measures with a value and the ends of its interval.

    A case is named for its study too, as a project may have several. A measure is named for its outcome; that
    of a ratio to the baseline ends in `-ratio`. The format has no place for what ran.
    https://bencher.dev/docs/reference/bencher-metric-format
    """
    cases: dict[str, dict[str, dict[str, float]]] = {}
    for row in figures:
        name = row.outcome.replace("_", "-") + ("-ratio" if row.of == "ratio" else "")
        interval = row.known
        metric = {"value": rounded(interval.point)}
        if interval.between:
            metric |= zip(("lower_value", "upper_value"), map(rounded, interval.between), strict=True)
        cases.setdefault(f"{study}: {row.label}", {})[name] = metric
    return as_json(cases)


def benchmark_action(stored: StoredRun, figures: Sequence[Row], *, smaller_is_better: bool) -> str:
    """JSON for github-action-benchmark's tools customSmallerIsBetter and customBiggerIsBetter.

    An array of `name`, `value`, `unit`, `range` and `extra`; a file holds what is better in one direction.
    The action finds a figure of an earlier commit by its name alone, so each figure has a name of its own.
    UserMistake where there is none. https://github.com/benchmark-action/github-action-benchmark
    """
    chosen = [row for row in figures if OUTCOMES[row.outcome].lower_is_better is smaller_is_better]
    if not chosen:
        direction = "smaller" if smaller_is_better else "bigger"
        raise UserMistake(
            f"no outcome that was chosen is better when {direction}",
            remedy="name others with --outcomes, or take the other format",
        )
    return as_json([_entry(stored, row) for row in chosen])


def _entry(stored: StoredRun, row: Row) -> dict[str, Any]:
    interval = row.known
    is_ratio = row.of == "ratio"
    beside = f", to {label_levels(row.baseline, stored.header.study)}" if is_ratio else ""
    entry: dict[str, Any] = {
        "name": f"{row.label}: {outcome_names.title(row.outcome)}{beside}",
        "value": rounded(interval.point),
        "unit": "×" if is_ratio else WORDS_OF_UNITS.get(row.unit, row.unit),
    }
    if interval.between:
        ends = " to ".join(f"{rounded(end):g}" for end in interval.between)
        entry["range"] = f"{ends} at {percent(interval.confidence)}"
    return {**entry, "extra": _extra(stored, row)}


def _extra(stored: StoredRun, row: Row) -> str:
    """From how many blocks, and what really ran."""
    header, trials = stored.header, counts_of(stored.measured)
    lines = (
        counted(row.known.blocks, "block"),
        row.negotiated,
        ", ".join(f"{specimen.name} {specimen.version}".strip() for specimen in header.specimens),
        f"run {header.run} by tlstax {header.tlstax_version}: {counted(trials.valid, 'valid trial')}, "
        f"{trials.invalid} invalid, {trials.unknown} unknown",
    )
    return "\n".join(line for line in lines if line)


Samples = Iterable[tuple[Mapping[str, str], float]]
"""Of a metric: its value for each set of labels."""


def openmetrics(stored: StoredRun, figures: Sequence[Row]) -> str:
    """OpenMetrics text, for the textfile collector of Prometheus's node_exporter.

    The figures, from how many blocks each is, what ran, and when; written so that the older text format,
    which that collector reads, says the same: gauges alone, without timestamps. Units are those that
    Prometheus asks for, the last word of a name: seconds, bytes, per_second. A figure is three families, its
    value and the ends of its interval; a ratio's have `to_baseline` in their names.
    https://prometheus.io/docs/specs/om/open_metrics_spec/
    """
    study = stored.header.study.name
    blocks = (
        ({**_labels(study, row), "figure": metric_name(row, "")[0]}, float(row.known.blocks))
        for row in figures
    )
    of_blocks = _family("tlstax_blocks", "", "From how many blocks each figure is.", blocks)
    return "".join((*_run_families(stored, figures), *_figure_families(study, figures), of_blocks, "# EOF\n"))


def _run_families(stored: StoredRun, figures: Sequence[Row]) -> Iterator[str]:
    header = stored.header
    of_run = {"study": header.study.name}
    started_s = datetime.fromisoformat(header.started_at).timestamp()
    about = "When the run was begun, since 1970."
    yield _family("tlstax_run_started_timestamp_seconds", "seconds", about, [(of_run, started_s)])
    who = {**of_run, "run": header.run, "tlstax": header.tlstax_version}
    yield _family("tlstax_run_about", "", "Always 1: which run these figures are of.", [(who, 1.0)])
    ran = (({**of_run, "name": own.name, "version": own.version}, 1.0) for own in header.specimens)
    yield _family("tlstax_ran_about", "", "Always 1: servers, libraries and programs that ran.", ran)
    trials = (({**of_run, "verdict": name}, float(number)) for name, number in counts_of(stored.measured))
    yield _family("tlstax_trials", "", "Trials by their verdict; figures are of the valid ones.", trials)
    cases = {row.label: row for row in figures}.values()
    seen = (({**_labels(header.study.name, row), "negotiated": row.negotiated}, 1.0) for row in cases)
    yield _family("tlstax_case_about", "", "Always 1: what each case negotiated.", seen)


LOW, HIGH = "the lower end of the interval", "the upper end of the interval"


def _figure_families(study: str, figures: Sequence[Row]) -> Iterator[str]:
    """The samples of a family stand together."""
    for own in grouped(figures, lambda row: (row.outcome, row.of)).values():
        words = outcome_names.title(own[0].outcome) + (", to the baseline" if own[0].of == "ratio" else "")
        for end, about in (("", words), ("low", f"{words}: {LOW}"), ("high", f"{words}: {HIGH}")):
            name, unit, factor = metric_name(own[0], end)
            ends = ((row, getattr(row.known, end or "point")) for row in own)
            samples = ((_labels(study, row), rounded(at * factor)) for row, at in ends if at is not None)
            yield _family(name, unit, about, samples)


def metric_name(row: Row, end: str) -> tuple[str, str, float]:
    """The metric of a figure or of an end of its interval, its unit, and the factor that leads to that."""
    stem = UNIT_WORDS.sub("", row.outcome)
    unit, factor = BASE_UNITS[row.unit]
    if row.of == "ratio":
        stem, unit, factor = f"{stem}_to_baseline", "ratio", 1.0
    name = "_".join(part for part in ("tlstax", stem, end) if part)
    return (name if not unit or name.endswith(f"_{unit}") else f"{name}_{unit}"), unit, factor


def _labels(study: str, row: Row) -> dict[str, str]:
    levels = {_label_name(name): str(level) for name, level in row.case.items()}
    return {"study": study, "case": row.label, **levels}


def _label_name(factor: str) -> str:
    name = re.sub(r"\W|^(?=\d)", "_", factor, flags=re.ASCII).strip("_")
    return f"factor_{name}" if name in TAKEN else name


def _family(name: str, unit: str, about: str, samples: Samples) -> str:
    """The lines of a metric, a gauge; nothing where it has no sample."""
    lines = [f"{name}{_braced(labels)} {number!r}" for labels, number in samples]
    if not lines:
        return ""
    units = [f"# UNIT {name} {unit}"] if unit else []
    return "\n".join((f"# TYPE {name} gauge", *units, f"# HELP {name} {_escaped(about)}", *lines, ""))


def _braced(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    r"""As a label's value has it: \\ and \" ; what would steer a terminal, or end a line, is gone."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')
