"""The way of an advice: what cannot be measured is named, and what is known by then is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from fake_slices import slices_of
from fake_trials import TAX_TRUTHS, Truth, fake_header, fake_record
from inspected_servers import asked, certificate, inspected, program, use, view
from tlstax.external.access import ExternalAccess, parse_url
from tlstax.plan.advice_studies import changes_like_it, changes_there, study_like_it
from tlstax.plan.order import blocks
from tlstax.records.trial import StoredRun, TrialRecord, Verdict
from tlstax.results.inspection import InspectedServer
from tlstax.run.pipeline import Watcher
from tlstax.run.preparing import Request
from tlstax.store import Store
from tlstax.study import Study
from tlstax.study.factors import CaseLevels
from tlstax.study.mixes import Mix
from tlstax.support.errors import Interrupted, MachineFault
from tlstax.tools import advice as advice_module
from tlstax.tools.advice import AdviceRequest, advise, connections_made, spared_by_hashing_less, spent_words
from tlstax.topics.advice.advise import Advice
from tlstax.topics.prediction.model import SERVER_CPU
from tlstax.topics.prediction.other_machines import shipped_parts, unscaled
from tlstax.topics.prediction.parts import parts_of

ACCESS = ExternalAccess(address=parse_url("mysql://ann@db.example/lent"), user="ann", password="x")
REQUEST = AdviceRequest(watch_s=1.0, there_s=10.0, like_it_s=10.0)
PLANTED = inspected(default=view("1.3", hello_retry=True), chain=(certificate("RSA 4096"),))

ASKS = {"twice": True}
"""Whether the private server asks for a second ClientHello."""

Measure = Callable[[Request], StoredRun]


def truth(case: CaseLevels) -> Truth:
    """What a case costs: 4 ms with RSA 4096, 1 ms with another key, half of it resumed."""
    cost = 4000.0 if case.certificate == "rsa-4096" else 1000.0
    cost = cost / 2 if case.resumes else cost
    cost = 300.0 if not case.is_encrypted else cost
    own = replace(TAX_TRUTHS["reconnect", "1.3", "off"], server_cpu_us_per_op=cost, hello_retry=ASKS["twice"])
    return own if case.reconnects else replace(own, server_cpu_us_per_op=50.0)


def run_of(request: Request, *, status: str = "complete") -> StoredRun:
    study: Study = request.study
    trials: list[TrialRecord] = []
    for number, block in enumerate(blocks(study, 1)):
        if number == 4:
            break
        made = [fake_record(trial, truth(trial.case.levels)) for trial in block]
        # Nobody sees the process of an external server.
        there = {"server": None, "slices": slices_of([(10, 1.0)] * 6, server=False)}
        trials += [record.model_copy(update=there if request.external else {}) for record in made]
    header = fake_header(study).model_copy(update={"guest": request.external is not None})
    fields = {"header": header, "status": status, "stopped_because": "", "trials": tuple(trials)}
    return StoredRun.model_validate(fields)


def advice(
    monkeypatch: pytest.MonkeyPatch,
    found: InspectedServer = PLANTED,
    measure: Measure = run_of,
    request: AdviceRequest = REQUEST,
) -> Advice:
    monkeypatch.setattr(advice_module, "inspect", lambda *_: found)
    monkeypatch.setattr(advice_module, "run", lambda asked, *_: measure(asked))
    return advise(ACCESS, request, cast("Store", None), cast("Watcher", None))


def test_both_runs_are_made_and_what_they_say_is_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Request] = []

    def measure(request: Request) -> StoredRun:
        asked.append(request)
        return run_of(request)

    found = advice(monkeypatch, measure=measure)
    assert [request.external and request.external.servers for request in asked] == [None, {None: ACCESS}]
    assert [own.change for own in found.advised] == ["certificate", "group"]
    saved = found.advised[0].saving.server_cpu_us
    assert saved is not None
    assert saved.low is not None
    assert saved.high is not None
    assert saved.low < 3000 < saved.high
    assert found.stand_in == "mysql-9.7"
    assert found.advised[0].saving.measured_on == "mysql-9.7"
    assert found.status == "complete"
    assert found.not_measured == ()
    assert found.connections_there > 34
    assert "two at once at the most" in found.spent_there


def test_a_run_that_fails_is_named_and_the_other_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def there_fails(request: Request) -> StoredRun:
        if request.external is not None:
            raise MachineFault("db.example:3306 has no free connection")
        return run_of(request)

    found = advice(monkeypatch, measure=there_fails)
    assert found.not_measured == ("times at the server itself: db.example:3306 has no free connection",)
    assert found.advised[0].saving.server_cpu_us is not None
    assert found.advised[0].saving.time_us is None
    assert found.status == "complete"
    assert found.spent_there == ""


REFUSED = Verdict.model_validate({"value": "invalid", "reasons": ["the machine stood still"]})


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"trials": ()}, "no valid trial"),
        ({"trials": (), "stopped_because": "its 8 s were over"}, "no valid trial: its 8 s were over"),
        ({"trials": (), "status": "interrupted"}, "interrupted"),
        ({"verdict": REFUSED}, "no valid trial: the machine stood still"),
    ],
)
def test_a_run_without_a_valid_trial_is_named(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], why: str
) -> None:
    def measure(request: Request) -> StoredRun:
        stored = run_of(request)
        trials = stored.trials
        if "verdict" in changes:
            return stored.model_copy(
                update={"trials": tuple(record.model_copy(update=changes) for record in trials)}
            )
        return stored.model_copy(update=changes)

    found = advice(monkeypatch, measure=measure)
    assert found.not_measured[0] == f"the server's CPU time: {why}"
    assert found.not_measured[1] == f"times at the server itself: {why}"
    assert all(own.saving.server_cpu_us is None and own.saving.time_us is None for own in found.changes)


@pytest.mark.parametrize("stored", [True, False])
def test_ctrl_c_ends_it_and_keeps_what_is_known(monkeypatch: pytest.MonkeyPatch, stored: bool) -> None:
    """In the middle of the first run, which keeps what it has, or before it began."""

    def interrupted(request: Request) -> StoredRun:
        assert request.external is None, "nothing is measured after an interruption"
        if not stored:
            raise Interrupted
        return run_of(request, status="interrupted")

    found = advice(monkeypatch, measure=interrupted)
    assert found.status == "interrupted"
    assert "times at the server itself: interrupted" in found.not_measured
    assert {own.change for own in found.advised} == {"certificate", "group"}
    assert (found.advised[0].saving.server_cpu_us is not None) == stored


def test_an_interrupted_inspection_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = PLANTED.model_copy(update={"status": "interrupted"})
    found = advice(monkeypatch, cut, measure=lambda _: pytest.fail("measured"))
    assert found.status == "interrupted"


def test_what_is_left_out_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    without = replace(REQUEST, there_s=0, like_it_s=0)
    found = advice(monkeypatch, measure=lambda _: pytest.fail("measured"), request=without)
    assert found.not_measured == ("the server's CPU time: left out", "times at the server itself: left out")
    assert {own.change for own in found.advised} == {"certificate", "group"}


def test_without_tls_and_without_a_server_like_it(monkeypatch: pytest.MonkeyPatch) -> None:
    none = PLANTED.asked[0].model_copy(update={"agreed": None})
    plain = PLANTED.model_copy(update={"asked": (none,)})
    found = advice(monkeypatch, plain, measure=lambda _: pytest.fail("measured"))
    assert (found.changes, found.not_measured) == ((), ())
    unknown = PLANTED.model_copy(update={"word": PLANTED.word.model_copy(update={"version": "TiDB"})})
    other = advice(monkeypatch, unknown)
    assert other.not_measured == ("the server's CPU time: no private server is like it",)
    odd = PLANTED.model_copy(update={"chain": (certificate("RSA 8192"),)})
    assert advice(monkeypatch, odd).not_measured == (
        "the server's CPU time: no private server can have a key of RSA 8192",
    )


def test_a_private_server_that_asks_once_tells_nothing_of_asking_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def asks_once(request: Request) -> StoredRun:
        monkeypatch.setitem(ASKS, "twice", False)
        return run_of(request)

    found = advice(monkeypatch, measure=asks_once)
    group = next(own for own in found.advised if own.change == "group")
    assert group.saving.server_share is None
    assert group.saving.round_trips == 1
    assert found.not_measured == ("P-256 first: mysql-9.7 asks for no second ClientHello",)


def test_compression_is_priced_whether_anything_was_measured_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """From what comes with tlstax, scaled to the private server where that was measured."""
    seen = use(100.0, 4.0, sent_bytes_per_s=400.0 * 4096)
    compressed = inspected(programs=(program(3, compression=True),), watched=seen)
    mix = Mix(compression="zlib", statements=4, answer_bytes=4096)
    fit = unscaled(shipped_parts("mysql-9.7").calibrated()).busy[SERVER_CPU]
    share = fit.saved_share(parts_of(mix), parts_of(mix.but(compression="off")))
    without = replace(REQUEST, there_s=0, like_it_s=0)
    shares = []
    for request in (without, REQUEST):
        found = advice(monkeypatch, compressed, request=request)
        (own,) = (own for own in found.changes if own.change == "compression")
        assert own.saving.is_computed
        assert own.saving.measured_on == "mysql-9.7"
        assert own.saving.server_share is not None
        shares.append(own.saving.server_share)
    assert shares[0] == share
    assert shares[1].point != share.point
    other = compressed.model_copy(update={"word": compressed.word.model_copy(update={"version": "TiDB"})})
    unknown = advice(monkeypatch, other, request=without)
    assert all(own.saving.server_share is None for own in unknown.changes)


STUDY = study_like_it(
    changes_like_it(changes_there("1.3", "1.2", answer_bytes=120, resumes=True, retried=True), "rsa-4096"),
    "mysql-9.7",
    60,
)


def test_what_measuring_took_is_counted() -> None:
    trials = next(iter(blocks(STUDY, 1)))
    records = tuple(fake_record(trial, TAX_TRUTHS["point-select", "off", "off"]) for trial in trials)
    template = fake_run_of(records)
    made = connections_made(template)
    each = {record.trial.case.levels.reconnects: record.done for record in records}
    assert each[True] is not None
    kept = sum(1 for record in records if not record.trial.case.levels.reconnects)
    anew = [
        record.done.operations for record in records if record.trial.case.levels.reconnects and record.done
    ]
    assert made == sum(anew) + kept * 4
    assert f"{made:,} connections" in spent_words([template])
    assert spent_words([]) == ""


def fake_run_of(records: tuple[object, ...]) -> StoredRun:
    return StoredRun.model_validate(
        {"header": fake_header(STUDY), "status": "complete", "stopped_because": "", "trials": records}
    )


def test_what_hashing_less_spares_grows_with_what_it_was() -> None:
    assert spared_by_hashing_less(None) is None
    assert spared_by_hashing_less(4096) is None
    less, more = spared_by_hashing_less(50_000), spared_by_hashing_less(500_000)
    assert less is not None
    assert more is not None
    assert 0 < less.point < more.point
    assert (less.low, less.high) == (less.point / 2, None)


def test_a_postgresql_s_groups_are_set_on_one_like_it_and_no_session_is_resumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planted = inspected(
        default=view("1.3", hello_retry=True), version="PostgreSQL 18.4", resumes=(), chain=(certificate(),)
    )
    taken = asked("group", "P-384", taken=view())
    studies: list[Study] = []

    def measure(request: Request) -> StoredRun:
        studies.append(request.study)
        return run_of(request)

    found = advice(monkeypatch, planted.model_copy(update={"asked": (*planted.asked, taken)}), measure)
    like_it, there = studies
    assert found.stand_in == "postgresql-18"
    assert set(like_it.levels_of()["configuration"]) == {"ssl_groups=secp384r1", "default"}
    assert set(like_it.levels_of()["resumption"]) == {"off"}
    assert "configuration" not in there.levels_of()
    assert set(there.levels_of()["group"]) == {"default"}, "clients cannot offer what it does not take"
    assert [own.change for own in found.advised] == ["groups"]
    assert found.advised[0].saving.server_share is not None
