"""The README's questions as queries over the store's views, each with a chart of the ratios it finds.

A chart has a dot and its interval for each row that has a label and a ratio, on one scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tlstax.results.interval import Interval
from tlstax.topics.core import figures, palette
from tlstax.topics.core.charts import RatioMark, Style, ratio_domain, ratio_ticks

_RUN = "coalesce(nullif(:run, ''), ({latest}))"

_RATIOS = """\
SELECT label, ratio, ratio_low, ratio_high, judgement, value, baseline_value, unit, outcome, blocks,
  noise_floor, run
FROM findings
WHERE run = {run}
  AND outcome = coalesce(nullif(:outcome, ''), '{outcome}')
  AND role IN ('treatment', 'control') AND ratio > 0
ORDER BY finding"""

_VARYING = """\
SELECT run FROM findings WHERE role IN ('baseline', 'treatment') AND outcome = '{outcome}'
  GROUP BY run HAVING {varies} ORDER BY run DESC LIMIT 1"""

_RECONNECTING = """\
SELECT again.label AS label, again.value / kept.value AS ratio, NULL AS ratio_low, NULL AS ratio_high,
  again.value AS value, kept.value AS value_on_kept_connections, again.unit AS unit, again.outcome AS outcome,
  again.run AS run
FROM findings AS again JOIN findings AS kept
  ON kept.run = again.run AND kept.outcome = again.outcome AND kept.role = again.role
{same}
WHERE again.case_workload = 'reconnect' AND kept.case_workload = 'point-select'
  AND again.role IN ('baseline', 'treatment') AND again.run = {run}
  AND again.outcome = coalesce(nullif(:outcome, ''), '{outcome}')
ORDER BY again.finding"""


@dataclass(frozen=True)
class Question:
    """A question: its name in addresses, how the README puts it, what answers it, what measures that."""

    name: str
    title: str
    reading: str
    command: str
    sql: str


def _ratios(outcome: str, *factors: str) -> str:
    """Ratios to the baseline in the latest run that varies one of these factors, or in the one named."""
    varies = " OR ".join(f"count(DISTINCT case_{factor}) > 1" for factor in factors)
    run = _RUN.format(latest=_VARYING.format(outcome=outcome, varies=varies))
    return _RATIOS.format(run=run, outcome=outcome)


def _reconnecting(outcome: str) -> str:
    """What is done anew for every statement, beside the same on connections that are kept."""
    shared = ("tls", "resumption", "connections", "server", "client", "tls_library", "certificate")
    same = "\n".join(f"  AND kept.case_{name} IS again.case_{name}" for name in shared)
    both = (
        "count(DISTINCT CASE WHEN case_workload IN ('reconnect', 'point-select') THEN case_workload END) > 1"
    )
    run = _RUN.format(latest=_VARYING.format(outcome=outcome, varies=both))
    return _RECONNECTING.format(same=same, run=run, outcome=outcome)


_TO_THE_BASELINE = (
    "Each case beside its baseline, with the 95 % interval; the baseline is 1. What lies within the noise "
    "floor is no difference that was seen."
)

QUESTIONS = (
    Question(
        "what-does-tls-cost-my-server",
        "What does TLS cost my server?",
        f"CPU time of the server for an operation. {_TO_THE_BASELINE}",
        "./tlstax run",
        _ratios("server_cpu_us_per_op", "tls"),
    ),
    Question(
        "what-does-reconnecting-cost",
        "What does reconnecting cost?",
        "CPU time of the server for a point select on a new connection, beside one on a connection that is "
        "kept: quotients of two means, without an interval.",
        "./tlstax run",
        _reconnecting("server_cpu_us_per_op"),
    ),
    Question(
        "which-certificate",
        "Which certificate?",
        f"CPU time of the server for an operation, by the key of its certificate. {_TO_THE_BASELINE}",
        "./tlstax study run identity",
        _ratios("server_cpu_us_per_op", "certificate"),
    ),
    Question(
        "which-tls-library",
        "Which TLS library?",
        f"Operations a second, by the library under the server or the client. {_TO_THE_BASELINE}",
        "./tlstax study run openssl-versions",
        _ratios("ops_per_s", "tls_library", "client_tls_library"),
    ),
    Question(
        "which-driver",
        "Which driver?",
        f"Operations a second, by the load client. {_TO_THE_BASELINE}",
        "./tlstax run --client engine,libmariadb-3.4 --workload point-select --tls off,1.3",
        _ratios("ops_per_s", "client"),
    ),
    Question(
        "what-does-distance-add",
        "What does distance add?",
        f"Median latency of an operation, by the round trip time. {_TO_THE_BASELINE}",
        "./tlstax run --rtt-ms 0,45,170 --workload reconnect --tls off,1.2,1.3 --budget 5m",
        _ratios("latency_p50_us", "rtt_ms"),
    ),
    Question(
        "what-does-a-tunnel-add",
        "What does a tunnel add?",
        f"Median latency of an operation, by what carries the bytes. {_TO_THE_BASELINE}",
        "./tlstax run --path direct,ssh-aes256-ctr,stunnel,haproxy-tls --tls off",
        _ratios("latency_p50_us", "path"),
    ),
)


MOST_ROWS = 60
"""More are in the table alone."""

NEEDED = ("label", "ratio", "ratio_low", "ratio_high")
"""The columns of a query that has a chart."""


@dataclass(frozen=True)
class Place:
    """A row of the chart: its label, where dot and interval are (in per cent), what it says in words."""

    label: str
    at: float
    low: float
    width: float
    words: str


@dataclass(frozen=True)
class Chart:
    """The rows, where no difference is, the scale's marks by their names, how many rows are left out."""

    places: tuple[Place, ...]
    one: float
    ticks: tuple[tuple[str, float], ...]
    left_out: int


def ratio_chart(columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> Chart | None:
    """The chart of these rows; None where the query has other columns, or nothing is above 0."""
    if not set(NEEDED) <= set(columns):
        return None
    marks = [_mark(row) for row in rows if _is_drawable(row)]
    if not marks:
        return None
    shown = marks[:MOST_ROWS]
    low, high = ratio_domain(shown)

    def place(ratio: float) -> float:
        return round(100 * math.log(ratio / low) / math.log(high / low), 2)

    return Chart(
        places=tuple(
            Place(
                label=mark.style.label,
                at=place(mark.point),
                low=place(mark.low),
                width=round(place(mark.high) - place(mark.low), 2),
                words=mark.text,
            )
            for mark in shown
        ),
        one=place(1.0),
        ticks=tuple((f"{tick:g}{figures.TIMES}", place(tick)) for tick in ratio_ticks(low, high)),
        left_out=len(marks) - len(shown),
    )


def _is_drawable(row: Mapping[str, Any]) -> bool:
    numbers = [row["ratio"], *(end for end in (row["ratio_low"], row["ratio_high"]) if end is not None)]
    return isinstance(row["label"], str) and all(isinstance(one, float) and one > 0 for one in numbers)


def _mark(row: Mapping[str, Any]) -> RatioMark:
    interval = Interval(
        point=row["ratio"], low=row["ratio_low"], high=row["ratio_high"], confidence=0.95, blocks=1
    )
    low, high = interval.ends
    return RatioMark(
        style=Style(row["label"], palette.LEVELS[0].light, palette.SHAPES[0]),
        point=interval.point,
        low=low,
        high=high,
        text=figures.change_with_interval(interval),
        description=row["label"],
    )
