"""The golden examples mean the same to the types and to the schemas; what is wrong is refused by both."""

from __future__ import annotations

import copy
import json
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import TypeAdapter, ValidationError

from tlstax import contract
from tlstax.contract import PHASES, Done, ErrorEvent, ErrorKind, Event, Job
from tlstax.contract.schemas import event_schema, job_schema
from tlstax.stats.histograms import decode

CONTRACT = Path(__file__).parents[2] / "contract"
EXAMPLES = sorted((CONTRACT / "examples").glob("*.json"))
JOB: TypeAdapter[Any] = TypeAdapter(Job)
EVENT: TypeAdapter[Any] = TypeAdapter(Event)


JOB_VALIDATOR = jsonschema.Draft202012Validator(job_schema())
EVENT_VALIDATOR = jsonschema.Draft202012Validator(event_schema())


def adapter_and_validator(name: str) -> tuple[TypeAdapter[Any], jsonschema.Draft202012Validator]:
    return (JOB, JOB_VALIDATOR) if name.startswith("job-") else (EVENT, EVENT_VALIDATOR)


def example(name: str) -> Any:
    return json.loads((CONTRACT / "examples" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_types_and_schema_accept_it_and_lose_nothing(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    adapter, validator = adapter_and_validator(path.stem)
    validator.validate(document)
    parsed = adapter.validate_python(document, strict=False)
    assert json.loads(parsed.model_dump_json()) == document


def test_there_is_an_example_of_every_event_and_of_both_schedules() -> None:
    documents = {path.stem: example(path.stem) for path in EXAMPLES}
    events = {document["event"] for name, document in documents.items() if name.startswith("event-")}
    jobs = [document for name, document in documents.items() if name.startswith("job-")]
    assert events == {"ready", "interval", "slice", "error", "done"}
    assert {job["schedule"]["mode"] for job in jobs} == {"closed", "open"}
    assert {job["tls"]["mode"] for job in jobs} == {"off", "on", "unset", "required"}
    assert {job["endpoint"]["kind"] for job in jobs} == {"tcp", "unix"}
    assert {job["workload"]["protocol"] for job in jobs} == {"text", "prepared"}
    for form in ("mix", "storm", "statements"):
        assert {bool(job["workload"][form]) for job in jobs} == {True, False}
    assert {job["tls"].get("weak_dh") for job in jobs} == {None, True, False}
    assert {job["tls"].get("own_context") for job in jobs} == {None, True}
    assert {job["tls"].get("get_server_public_key") for job in jobs} == {None, False}


def test_the_example_of_a_mix_has_every_kind_of_parameter() -> None:
    (definition,) = (part for part in job_schema()["$defs"].values() if part.get("title") == "Transaction")
    kinds = definition["properties"]["parameters"]["additionalProperties"]["discriminator"]["mapping"]
    mix = example("job-mix")["workload"]["mix"]
    parts = [part for transaction in mix for part in (transaction, *transaction["statements"])]
    assert {parameter["kind"] for part in parts for parameter in part["parameters"].values()} == set(kinds)


def test_what_a_driver_is_told_and_tells_is_in_the_examples() -> None:
    told = [example(path.stem)["driver"] for path in EXAMPLES if path.stem.startswith("job-")]
    assert {driver is None for driver in told} == {True, False}
    ready = EVENT.validate_python(example("event-ready-driver"))
    assert ready.steady is True
    assert [one.elapsed_s for one in ready.warmup] == sorted({one.elapsed_s for one in ready.warmup})
    assert [(seen.client, seen.client_tells) for seen in ready.negotiated] == [(None, False)]
    assert EVENT.validate_python(example("event-ready")).negotiated[0].client_tells


def test_histograms_of_the_example_hold_one_value_for_every_operation() -> None:
    done = EVENT.validate_python(example("event-done"))
    assert isinstance(done, Done)
    assert set(done.histograms_ns) <= set(PHASES)
    assert {decode(encoded).count for encoded in done.histograms_ns.values()} == {done.operations}


@pytest.mark.parametrize("name", ["event-done", "event-done-storm"])
def test_what_crossed_the_wire_while_connecting_is_the_sum_of_its_four_phases(name: str) -> None:
    done = EVENT.validate_python(example(name))
    parts = [
        done.phase_wire[phase] for phase in ("tcp_connect", "greeting", "tls_handshake", "authentication")
    ]
    whole = done.phase_wire["connect"]
    for field in ("round_trips", "bytes_sent", "bytes_received"):
        assert getattr(whole, field) == sum(getattr(part, field) for part in parts)
    assert {part.times for part in parts} == {whole.times} == {done.operations}
    once = [wire for phase, wire in done.phase_wire.items() if phase != "connect"]
    assert sum(wire.bytes_sent for wire in once) == done.wire.bytes_sent


def test_the_example_of_a_storm_opens_all_connections_in_each_round() -> None:
    job = JOB.validate_python(example("job-storm"))
    done = EVENT.validate_python(example("event-done-storm"))
    assert len(done.rounds_s) == job.rounds
    assert done.operations == done.window.connections == job.operations == job.rounds * job.connections
    assert sum(done.rounds_s) < done.elapsed_s
    assert job.workload.transactions == ()


def test_a_slice_counts_what_was_opened_in_it_and_a_round_for_each_opening_of_all() -> None:
    reconnecting, storm = (EVENT.validate_python(example(f"event-slice{kind}")) for kind in ("", "-storm"))
    assert reconnecting.counts.connections == reconnecting.operations
    assert sum(seen.count for seen in reconnecting.counts.handshakes) == reconnecting.operations
    assert len(storm.rounds_s) * example("job-storm")["connections"] == storm.counts.connections
    assert sum(storm.rounds_s) < storm.elapsed_s


def test_under_full_load_a_slice_did_less_than_in_all() -> None:
    job, slice_ = JOB.validate_python(example("job-full-load")), EVENT.validate_python(example("event-slice"))
    part = slice_.full_load
    assert part.operations + job.full_load.after_operations < slice_.operations
    assert part.elapsed_s < slice_.elapsed_s
    assert part.cpu_us < slice_.cpu_us
    assert len(part.cpu_of_us) == len(job.full_load.cpu_of)


def test_work_of_an_open_loop_that_was_never_started_is_in_its_histograms() -> None:
    done = EVENT.validate_python(example("event-done-open-loop"))
    assert isinstance(done, Done)
    assert done.skipped > 0
    counts = {phase: decode(encoded).count for phase, encoded in done.histograms_ns.items()}
    assert counts["operation"] == done.operations + done.skipped
    assert counts["start_delay"] == done.scheduled == done.operations + done.skipped
    assert counts["query"] == done.operations


def without(*path: str) -> Callable[[Any], None]:
    def remove(document: Any) -> None:
        for part in path[:-1]:
            document = document[part]
        del document[path[-1]]

    return remove


def with_value(value: object, *path: str | int) -> Callable[[Any], None]:
    def put(document: Any) -> None:
        for part in path[:-1]:
            document = document[part]
        document[path[-1]] = value

    return put


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("job-tls13-resumed", with_value(1, "schema")),
        ("job-tls13-resumed", with_value(1, "unheard_of")),
        ("job-tls13-resumed", with_value("yes", "tls", "unheard_of")),
        ("job-tls13-resumed", with_value("1.4", "tls", "max_version")),
        ("job-tls13-resumed", with_value(0, "connections")),
        ("job-tls13-resumed", with_value(70000, "endpoint", "port")),
        ("job-tls13-resumed", with_value(1e300, "timeout_s")),
        ("job-tls13-resumed", with_value(1e9, "warmup_s")),
        ("job-tls13-resumed", with_value(1e9, "duration_s")),
        ("job-tls13-resumed", with_value([], "workload", "statements")),
        ("job-tls13-resumed", with_value(0, "operations")),
        ("job-tls13-resumed", with_value(0, "rounds")),
        ("job-tls13-resumed", with_value(0, "workload", "statements", 0, "repeat")),
        ("job-mix", with_value([], "workload", "mix")),
        ("job-mix", with_value([{"sql": "SELECT 1"}], "workload", "statements")),
        ("job-mix", with_value([], "workload", "mix", 0, "statements")),
        ("job-mix", with_value(0, "workload", "mix", 0, "weight")),
        ("job-mix", with_value({"x": {"kind": "zipf"}}, "workload", "mix", 0, "parameters")),
        (
            "job-mix",
            with_value({"x": {"kind": "digits", "template": ""}}, "workload", "mix", 0, "parameters"),
        ),
        ("job-mix", with_value({"x": {"kind": "one_of", "values": []}}, "workload", "mix", 0, "parameters")),
        ("event-done", with_value({"average": -1}, "reported_s")),
        ("event-done-storm", with_value(0, "rounds_s", 0)),
        ("event-done-storm", with_value(0, "phase_wire", "connect", "times")),
        ("event-done-storm", with_value(-1, "phase_wire", "connect", "round_trips")),
        ("job-driver", with_value(0, "driver", "batch")),
        ("job-driver", with_value(-1, "driver", "steady_within_s")),
        ("job-driver", with_value(True, "driver", "options", "useSSL")),
        ("job-driver", with_value("none", "tls", "verify")),
        ("event-ready-driver", with_value(-1, "warmup", 0, "cpu_us")),
        ("event-ready-driver", with_value(0, "negotiated", 0, "connections")),
        ("job-storm", with_value([{"sql": "SELECT 1"}], "workload", "statements")),
        ("job-storm", with_value(False, "workload", "storm")),
        ("job-plaintext-without-key", with_value(2, "tls", "get_server_public_key")),
        ("job-tls13-resumed", with_value(True, "tls", "get_server_public_key")),
        ("job-full-load", with_value(0, "full_load", "after_operations")),
        ("job-full-load", with_value(0, "full_load", "cpu_of", 0)),
        ("event-slice", with_value(0, "full_load", "operations")),
        ("event-slice", without("full_load", "cpu_of_us")),
        ("job-tls13-resumed", with_value(-1, "cpus", 0)),
        ("job-tls13-resumed", without("account")),
        ("job-open-loop-prepared", with_value(0, "schedule", "rate_per_s")),
        ("job-open-loop-prepared", with_value(1e9, "schedule", "rate_per_s")),
        ("job-open-loop-prepared", without("schedule", "rate_per_s")),
        ("event-error", with_value("gremlins", "kind")),
        ("event-error", with_value("nobody", "fault")),
        ("event-done", with_value("stop", "event")),
        ("event-done", without("histograms_ns")),
        ("event-done", with_value(-1, "threads_cpu_us", 0)),
        ("event-done", with_value(0, "overhead", "operations")),
        ("event-done", with_value(-1, "operations")),
        ("event-interval", with_value(1, "unheard_of")),
        ("event-ready", without("pid")),
    ],
)
def test_types_and_schema_refuse_the_same(name: str, spoil: Callable[[Any], None]) -> None:
    document = copy.deepcopy(example(name))
    spoil(document)
    adapter, validator = adapter_and_validator(name)
    with pytest.raises(ValidationError):
        adapter.validate_python(document)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(document)


def test_the_password_is_neither_shown_nor_kept() -> None:
    job = JOB.validate_python(example("job-tls13-resumed"))
    assert job.account.password
    assert job.account.password not in repr(job)
    assert job.account.password not in job.without_password().model_dump_json()


def test_the_page_explains_every_kind_of_error_and_every_phase() -> None:
    page = (CONTRACT / "README.md").read_text(encoding="utf-8")
    kinds = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    explained = [kind for kind in kinds if kind in typing.get_args(ErrorKind)]
    assert explained == list(typing.get_args(ErrorKind))
    assert not [phase for phase in PHASES if f"`{phase}`" not in page]


def test_nothing_can_be_changed_after_the_door() -> None:
    error = EVENT.validate_python(example("event-error"))
    assert isinstance(error, ErrorEvent)
    with pytest.raises(ValidationError):
        error.count = 2  # type: ignore[misc]


def test_every_type_of_the_contract_refuses_unknown_fields() -> None:
    models = [m for m in vars(contract).values() if isinstance(m, type) and issubclass(m, contract.Frozen)]
    assert len(models) > 20
    assert all(m.model_config.get("extra") == "forbid" and m.model_config.get("frozen") for m in models)
