"""Where numbers are now that documents had elsewhere: whoever moves one adds a line for `same_numbers.py`.

They say what changed since the code that OLD was rendered with, and go when that is left behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Renamed:
    """What has its form still, at another place; elements of lists are in their order there."""

    old: str
    new: str


@dataclass(frozen=True)
class Moved:
    """What rows have now: those of this topic and outcome have it in `field`, what is below it below that.

    The topic "" is a document that has rows itself.

    `old` is a place such as "trust[].more_us": `[]` is any element, `{}` any key. In `outcome`, "{name}"
    stands for what the nearest object around has by that name, "{key}" for the key at `{}`. `case` and
    `beside` name the objects around whose levels a row has as `case` and `beside`; levels in `without` are
    not compared. `by` names more that is around, and that a row has too, or has in `more`. Where any outcome
    or any field may have it ("*"), an interval counts as one value.
    """

    old: str
    topic: str
    outcome: str = "*"
    field: str = "*"
    case: str = "case"
    beside: str = "baseline"
    by: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dropped:
    """What is not shown any more, on purpose."""

    old: str
    why: str


Rule = Renamed | Moved | Dropped


def _of_explanations(place: str, topic: str) -> tuple[Rule, ...]:
    """An explanation's numbers: at `place` of a document, which has them in rows of `topic` now."""
    of_whole = {
        "case_us_per_op": "value",
        "baseline_us_per_op": "baseline_value",
        "extra_cpu_us_per_op": "interval",
        "noise_us_per_op": "noise_floor",
        "operation": "more.operation",
    }
    of_culprit = {
        "share": "more.share",
        "function": "more.function",
        "library": "more.library",
        "extra_us_per_op": "interval",
    }
    return (
        *(Moved(f"{place}{old}", topic, "cpu_us_per_op", new) for old, new in of_whole.items()),
        Moved(f"{place}components[].us_per_op", topic, "{side}: {name}", "value"),
        Moved(f"{place}components[].baseline_us_per_op", topic, "{side}: {name}", "baseline_value"),
        Moved(f"{place}components[].extra_us_per_op", topic, "{side}: {name}", "interval"),
        Moved(f"{place}components[].functions[]", topic),
        *(
            Moved(f"{place}culprit.{old}", topic, "{side}: {component}", new)
            for old, new in of_culprit.items()
        ),
        Dropped(f"{place}culprit.beneath", "a text now"),
        Moved(f"{place}shifts[].value", topic, "{outcome}", "value"),
        Moved(f"{place}shifts[].baseline_value", topic, "{outcome}", "baseline_value"),
        Moved(f"{place}shifts[].unit", topic, "{outcome}", "unit"),
        Moved(f"{place}removal.predicted", topic, "ops_per_s", "interval.point"),
        Moved(f"{place}removal.measured", topic, "ops_per_s", "interval.point"),
        Moved(f"{place}unattributed{{}}", topic, "{key}_samples", "more.unattributed_share"),
        Moved(f"{place}samples{{}}", topic, "{key}_samples", "value"),
        Dropped(f"{place}unattributed_share", "it is the server's of those by side"),
        Dropped(f"{place}verdict", "the judgement says it, and whether there is a culprit"),
        Dropped(f"{place}whole_is_told", "the judgement says it"),
        Dropped(f"{place}is_control", "the case says it"),
        Dropped(f"{place}schema", "it counts the forms of the document"),
    )


_OF_CLIENTS_DRIVERS_AND_PUBLISHED = (
    Moved("agreements[]", "agreement", case="-", beside="-"),
    Moved("agreements[].clients[].ratio", "agreement", field="interval", case="-", beside="-"),
    *(
        Dropped(f"agreements[].{name}", "the role, the judgement and the cases say it")
        for name in ("kind", "unit", "reference", "clients[].client", "clients[].verdict")
    ),
    Moved("drivers.defaults[]", "drivers"),
    Moved("drivers.defaults[].commands_per_op{}", "drivers", field="value"),
    Dropped("drivers.defaults[].driver", "the case says it"),
    Dropped("drivers.defaults[].as_it_is", "the case says it"),
    Dropped("drivers.defaults[].negotiated", "one text now"),
    Moved("drivers.splits[]", "drivers", beside="-", case="-"),
    Moved("drivers.splits[].extra_us_per_op", "drivers", field="interval", case="-", beside="-"),
    Moved("drivers.splits[].time_ratio", "drivers", field="interval", case="-", beside="-"),
    Moved("drivers.splits[].parts[].extra_us_per_op", "drivers", field="interval", case="-", beside="-"),
    Moved("drivers.splits[].parts[].share", "drivers", field="interval", case="-", beside="-"),
    Dropped("drivers.splits[].driver", "the cases say it"),
    Dropped("drivers.splits[].against", "the cases say it"),
    Dropped("drivers.splits[].published_rest", "one less the published share of encryption"),
    Dropped("drivers.splits[].parts[].kind", "the outcome says it"),
    Moved("drivers.warmups[]", "drivers"),
    Moved("published[]", "published", case="-", beside="-"),
    Moved("published[].ratio", "published", field="interval", case="-", beside="-"),
    Dropped("published[].blocks", "the row of what was measured has them"),
    Dropped("published[].against", "rows have it where there is any"),
    Dropped("published[].verdict", "a sentence now, and the judgement"),
    Moved("tables", "tables", case="-", beside="-"),
    *(
        Dropped(f"tables.{name}", "the design has it, and rows have each cell")
        for name in ("processors[].published", "times[].published")
    ),
    *(
        Dropped(f"tables.{name}", "the roles, the judgements and columns of rows say it")
        for name in (
            "claims[].verdict",
            "claims[].here[].part",
            "claims[].here[].shown",
            "differences[].verdict",
            "differences[].published",
        )
    ),
)
_OF_SCALING: tuple[Rule, ...] = (
    Moved("scaling[].single_per_s", "scaling", "throughput of one", "interval"),
    Moved("scaling[].contention", "scaling", "contention", "interval"),
    Moved("scaling[].coherence", "scaling", "coherence", "interval"),
    Moved("scaling[].factor", "scaling", field="more.sizes_of"),
    Moved("scaling[].sizes", "scaling", field="more.sizes"),
    Moved("scaling[].peak", "scaling", field="more.peak_size"),
    Moved("scaling[].misfit", "scaling", field="more.law_misfit"),
)
_OF_TWO_SIDES: tuple[Rule, ...] = (
    Moved("two_sides[]", "two_sides", "{outcome}"),
    Moved("two_sides[].a", "two_sides", "{outcome}", "baseline_value"),
    Moved("two_sides[].b", "two_sides", "{outcome}", "value"),
    Moved("two_sides[].change", "two_sides", "{outcome}", "interval"),
    Moved("two_sides[].control", "two_sides", "{outcome}", "interval"),
    Moved("two_sides[].twins[]", "two_sides", "{outcome}", "interval"),
)
_OF_MACHINES: tuple[Rule, ...] = (
    Moved("machines.machines[].name", "machines", "blocks", "more.machine"),
    Moved("machines.machines[].blocks", "machines", "blocks", "value"),
    Dropped("machines.machines[].machine", "the document has machines by their names"),
    Moved("machines.kinds", "machines", "kinds", "value"),
    Dropped("machines.scope", "the caveat of how intervals are to be read says it"),
    Moved("machines.ratios[]", "machines", "{outcome}"),
    Moved("machines.ratios[].ratio", "machines", "{outcome}", "interval"),
    Moved("machines.ratios[].own[].ratio", "machines", "{outcome}", "interval", by=("machine",)),
    Moved("machines.ratios[].own[].machine", "machines", "{outcome}", "more.machine"),
    Moved("machines.ratios[].by_chance", "machines", "{outcome}", "more.difference_by_chance"),
    Dropped("machines.ratios[].differ", "the rows have it as machines_differ"),
    Moved("load.server_address", "load", "operations", "more.server_address"),
    Moved("load.machines[].name", "load", "operations", "more.machine"),
    Moved("load.machines[].share", "load", "operations", "value"),
    Dropped("load.machines[].machine", "the document has load_machines by their names"),
    Moved("load.offered", "load", "machines_offered", "value"),
    Moved("load.steps[].machines", "load", "busy", "more.machines_together"),
    Moved("load.steps[].server_busy", "load", "busy", "baseline_value"),
    Moved("load.skew_us", "load", "skew_us", "value"),
    Moved("load.clock_error_us", "load", "clock_error_us", "value"),
    Moved("load.limits[].server_busy", "load", "busy", "baseline_value"),
    Moved("load.limits[].clients_busy", "load", "busy", "value"),
    Moved("load.limits[].limit", "load", "busy", "judgement"),
)
_OF_BULK: tuple[Rule, ...] = (
    Moved("bulk[].direction", "bulk", field="more.direction"),
    Moved("bulk[].row_bytes", "bulk", field="more.rows_of_bytes"),
    Moved("bulk[].points[]", "bulk", by=("payload_bytes",)),
    Moved("bulk[].points[].row_bytes", "bulk", field="more.row_bytes"),
    Moved("bulk[].handshake_is_small_bytes", "bulk", "size from which the handshake is small", "interval"),
    *(
        Moved(f"bulk[].further_{side}_us", "bulk", f"{side} CPU of a further MiB", "interval")
        for side in ("server", "client", "path")
    ),
    *(
        Moved(f"bulk[].points[].{old}", "bulk", outcome, "interval", by=("payload_bytes",))
        for old, outcome in {
            "mib_per_s": "MiB a second",
            "server_cpu_us_per_mib": "server CPU of a MiB",
            "client_cpu_us_per_mib": "client CPU of a MiB",
            "path_cpu_us_per_mib": "path CPU of a MiB",
            "server_to_plaintext": "server CPU beside plaintext",
            "wire_bytes_per_byte": "bytes on the wire for each byte",
            "client_records.per_statement": "TLS records that the client sends",
            "server_records.per_statement": "TLS records that the server sends",
            "client_records.bytes_each": "bytes of a TLS record of the client",
            "server_records.bytes_each": "bytes of a TLS record of the server",
            "handshake_share": "share of the handshake in the server's CPU",
        }.items()
    ),
)
_OF_DISTANCE: tuple[Rule, ...] = (
    Moved("distances.curves[]", "distance", without=("rtt_ms",)),
    Dropped("distances.curves[].server", "the case has it"),
    Dropped("distances.curves[].workload", "the case has it"),
    Dropped("distances.curves[].connections", "the case has them"),
    Moved("distances.curves[].points[]", "distance", without=("rtt_ms",)),
    Dropped("distances.curves[].points[].rtt_ms", "the case has it"),
    Moved(
        "distances.curves[].points[].round_trip_ms",
        "distance",
        field="more.round_trip_ms",
        without=("rtt_ms",),
    ),
    Moved("distances.curves[].growth", "distance", without=("rtt_ms",)),
    Moved("distances.pools[]", "distance", case="-"),
    Dropped("distances.pools[].server", "the case has it"),
    Dropped("distances.pools[].rtt_ms", "the case has it"),
    Dropped("distances.pools[].made", "the case has it, as its workload"),
    Moved("distances.pools[].kept", "distance", field="more.kept_workload", case="-"),
    Moved("distances.claims[]", "distance", case="-"),
    Moved("tunnels[]", "tunnels", case="tunnel_case", beside="rival_case"),
    Dropped("tunnels[].server", "the case has it"),
    Dropped("tunnels[].rtt_ms", "the case has it"),
    Dropped("tunnels[].tunnel", "the case has it, as its path"),
    Dropped("tunnels[].rival", "a text: the row's label"),
    Dropped("tunnels[].made", "the case has it, as its workload"),
    Moved("tunnels[].kept", "tunnels", field="more.kept_workload", case="tunnel_case", beside="rival_case"),
    Moved("tunnels[].measure", "tunnels", field="more.measure", case="tunnel_case", beside="rival_case"),
)
_OF_STATEMENTS: tuple[Rule, ...] = (
    Moved("statements[]", "statements", case="-", beside="-"),
    *(
        Moved(f"statements[].pooled.{outcome}", "statements", field=f"more.{outcome}", case="-", beside="-")
        for outcome in ("held", "opposite", "alike", "inconclusive")
    ),
    Dropped("statements[].cells", "the sum of what its cases count"),
    *(Dropped(f"statements[].{name}", "the design has it") for name in ("kind", "by", "alike_within")),
    *(
        rule
        for role in ("cases", "plaintext")
        for rule in (
            Moved(f"statements[].{role}[]", "statements", beside="-"),
            Moved(f"statements[].{role}[].ratio", "statements", field="interval", beside="-"),
            Moved(
                f"statements[].{role}[].connections",
                "statements",
                field="more.pooled_connections",
                beside="-",
            ),
            *(
                Moved(
                    f"statements[].{role}[].cells.{outcome}",
                    "statements",
                    field=f"more.{outcome}",
                    beside="-",
                )
                for outcome in ("held", "opposite", "alike", "inconclusive")
            ),
            Dropped(f"statements[].{role}[].sides", "a text now: servers"),
        )
    ),
)


RULES: Mapping[str, tuple[Rule, ...]] = {
    "explain.json": (
        *_of_explanations("", ""),
        Dropped("per_op", "of locks: the value of the first row"),
        Dropped("baseline_per_op", "of locks: the baseline's value of the first row"),
        Dropped("changes", "of locks: the rows behind the first have them"),
    ),
    "report.json": (
        Moved("contrasts[]", "contrasts", "{outcome}"),
        Moved("contrasts[].ratio", "contrasts", "{outcome}", "interval"),
        Moved("pooled[]", "contrasts", "{outcome}"),
        Moved("pooled[].ratio", "contrasts", "{outcome}", "interval"),
        Moved("pooled[].connections", "contrasts", "{outcome}", "more.pooled_connections"),
        Moved("unpaired[]", "unpaired", "{outcome}", beside="-"),
        Dropped("control", "the finding of the control has it"),
        Moved("trust[]", "trust", beside="-", without=("trust",)),
        Moved("trust[].more_us", "trust", "latency_mean_us", "interval", beside="-", without=("trust",)),
        Moved(
            "trust[].more_cpu_us", "trust", "client_cpu_us_per_op", "interval", beside="-", without=("trust",)
        ),
        Moved("locks[]", "locks", "server_locks_per_op"),
        Moved("locks[].takers[]", "locks", "{library}: {function}: {kind}"),
        Moved("storms[]", "storms", "connections_per_s"),
        Dropped("storms[].role", "the case says it, as do the judgement and the baseline"),
        Moved("round_trips[]", "round_trips"),
        Moved("round_trips[].phases[]", "round_trips", by=("phase",)),
        Dropped("round_trips[].phases[].bytes_agreed", "rows of bytes have it as agreed"),
        Moved("round_trips[].over_distance", "round_trips", "connect_p50_us"),
        Dropped("round_trips[].over_distance.connect_ms", "the row's value, in microseconds"),
        Moved("pool[]", "pool"),
        Moved("pool[].operations_worth", "pool", "operations_worth", "interval"),
        Moved("pool[].operations_needed", "pool", "operations_needed", "interval"),
        Moved("pool[].kept_to_plaintext", "pool", "kept_to_plaintext", "interval"),
        Moved("pool[].made_to_plaintext", "pool", "made_to_plaintext", "interval"),
        Moved("hello_retries.kinds[]", "hello_retry"),
        Dropped("hello_retries.kinds[].version", "negotiated has it, with the group"),
        Dropped("hello_retries.kinds[].resumed", "the outcome says it"),
        Moved("hello_retries.cases[]", "hello_retry", "handshakes_retried"),
        Dropped("hello_retries.cases[].rtt_ms", "the case has it"),
        Moved("hello_retries.cases[].avoided[]", "hello_retry", case="-", beside="case"),
        Moved("hello_retries.cases[].avoided[].costs[]", "hello_retry", "{cost}", case="-", beside="case"),
        Dropped("hello_retries.cases[].avoided[].costs[].noise_floor", "it is relative, as in tables"),
        Dropped("hello_retries.remedy", "words, which the report has"),
        Dropped("hello_retries.command", "words, which the report has"),
        Moved("captures.cases[]", "captures"),
        Dropped("captures.cases[].role", "the case says it"),
        Dropped("captures.cases[].reading", "first_bytes[].says says it"),
        Renamed("captures.cases[].offered", "first_bytes[].offered"),
        Renamed("captures.cases[].statements", "first_bytes[].statements"),
        Renamed("captures.cases[].after_login", "first_bytes[].after_login"),
        Renamed("captures.cases[].in_window", "first_bytes[].in_window"),
        Dropped("captures.asked_for", "the header says it"),
        *_of_explanations("explanations[].", "explain"),
        Dropped("explanations[].run", "the document says of which run it is"),
        Dropped("explanations[].alike_within", "the design has it"),
        Moved("profiling.samples", "profiling", "samples", "value"),
        Moved("profiling.lost", "profiling", "samples", "more.samples_lost"),
        Moved("profiling.trials.valid", "profiling", "samples", "more.trials_valid"),
        Moved("profiling.trials.invalid", "profiling", "samples", "more.trials_invalid"),
        Moved("profiling.trials.unknown", "profiling", "samples", "more.trials_unknown"),
        *(
            Moved(f"profiling.{name}", "profiling", "samples", f"more.{name}")
            for name in ("profiles", "event", "frequency_hz", "kernel", "kernel_names")
        ),
        Moved("profiling.sides[]", "profiling", "sampled_share", "more.side"),
        Moved("profiling.coverage{}", "profiling", "sampled_share", "value"),
        Moved("profiling.costs{}", "profiling", "{key}", "interval"),
        *_OF_CLIENTS_DRIVERS_AND_PUBLISHED,
        *_OF_SCALING,
        *_OF_TWO_SIDES,
        *_OF_MACHINES,
        *_OF_BULK,
        *_OF_DISTANCE,
        *_OF_STATEMENTS,
        Dropped("schema", "it counts the forms of the document"),
    ),
    "run.json": tuple(
        Renamed(f"trials[].together.claims.{old}", f"trials[].together.claims.{new}")
        for old, new in {
            "Connections": "connections",
            "Ssl_finished_accepts": "handshakes",
            "Ssl_session_cache_hits": "session_lookups",
        }.items()
    ),
    "compare.json": (
        Renamed("beside[].changes[].before", "beside[].changes[].baseline_value"),
        Renamed("beside[].changes[].after", "beside[].changes[].value"),
        Renamed("beside[].changes[].change", "beside[].changes[].interval"),
        Renamed("beside[].changes[].measure", "beside[].changes[].role"),
        Dropped("beside[].changes[].unit", "a ratio to the baseline has no unit"),
        Dropped("schema", "it counts the forms of the document"),
    ),
    "check*.json": (
        Renamed("cases[].change.case", "changes[].case"),
        Renamed("cases[].change.label", "changes[].label"),
        Renamed("cases[].change.outcome", "changes[].outcome"),
        Renamed("cases[].change.before", "changes[].baseline_value"),
        Renamed("cases[].change.after", "changes[].value"),
        Renamed("cases[].change.change", "changes[].interval"),
        Renamed("cases[].change.judgement", "changes[].judgement"),
        Renamed("cases[].change.measure", "changes[].role"),
        Dropped("cases[].change.unit", "a ratio to the baseline has no unit"),
        Renamed("cases[].limit.outcome", "changes[].outcome"),
        Renamed("cases[].limit.most", "changes[].more.most"),
        Renamed("cases[].limit.least", "changes[].more.least"),
        Renamed("cases[].verdict", "changes[].more.verdict"),
        Dropped("schema", "it counts the forms of the document"),
    ),
}
"""For JSON documents, by the file's name as a pattern. Of several rules for a place the longest counts:

    "report.json": (
        Moved("trust[].more_us", "trust", "latency_mean_us", "change"),
        Moved("trust[].authorities", "trust", field="more.authorities"),
        Moved("bulk[].points[].mib_per_s", "bulk", "MiB/s", "value", by=("payload_bytes",)),
        Moved("round_trips[].phases[]", "round_trips", by=("phase",)),
        Dropped("schema", "it counts the forms of the document"),
    ),
"""


@dataclass(frozen=True)
class Cells:
    """Where the cells of rows are now that have this role (of a table without roles: ""); "*": of any.

    `role` and `outcome` are what these rows have there now, None where that is the same. `columns` are the
    new names of columns, where one ends with "_*" of all that begin so; an empty one: it is gone, as `why`
    says.
    """

    old_role: str
    role: str | None = None
    outcome: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    why: str = ""


_AS_DIFFERENCE = {"value": "difference", "value_low": "difference_low", "value_high": "difference_high"}
_ROWS = (
    Cells("hello retry extra", role="hello retry cost", columns=_AS_DIFFERENCE),
    Cells("component extra", role="component", columns=_AS_DIFFERENCE),
)

CELLS: Mapping[str, tuple[Cells, ...]] = {
    "report.csv": _ROWS,
    "rows/findings.*": _ROWS,
    "views/findings.*": _ROWS,
}
"""For tables, by the file's name as a pattern: `"report.csv": (Cells("component extra", role="component",
columns={"value": "change", "value_low": "change_low"}),)`. The first line for a role counts."""

FILES: Mapping[str, str] = {}
"""What a file of OLD is called in NEW, where not the same: `"rows/findings.csv": "rows/results.csv"`."""

TEXTS: Mapping[str, str] = {}
"""Texts by the file's name as a pattern, in which numbers may be missing, and why."""

PROSE = frozenset(
    {
        "caveats", "comparable", "conditions", "in_proportion_sentence", "in_time_sentence", "label",
        "labels", "note", "place", "question", "reading", "reason", "reasons", "says", "sentence",
        "sentences", "stopped_because", "title", "why", "why_none", "why_not", "words", "work",
    }
)  # fmt: skip
"""Fields and columns with words: these may change, and are among the texts."""

ORDINALS = frozenset({"finding"})
"""Columns that only count the rows."""

SETS = frozenset({"case_options", "baseline_options"})
"""Columns whose parts, each "name=level", say the same in any order."""
