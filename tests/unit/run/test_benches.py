"""Only the server of the trial runs, what cannot be had is named with the way around it, and TLS is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fake_trials import fake_header
from tlstax.clients.choice import ClientProgram
from tlstax.observers.countable import Usable
from tlstax.observers.counters import INSTRUCTIONS
from tlstax.plan.order import cases
from tlstax.records.trial import Machine
from tlstax.run import benches, external, tls_support
from tlstax.run.bench import Equipment, Needs, PrivateBench
from tlstax.run.benches import Benches, Specimens, left_out, obtain, open_benches
from tlstax.run.tls_support import cut_to
from tlstax.study import Study, load_study, override
from tlstax.study.factors import ServerChoice
from tlstax.study.needs import replicates, server_choices, tls_libraries
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake

MACHINE: Machine = fake_header().machine
NEEDS = Needs(rows=10, connections=8, seed=1, duration_s=0.1)


class FakeServer:
    """A server that notes when it is paused and resumed."""

    def __init__(self) -> None:
        self.running = True
        self.certificates = SimpleNamespace(ca_file=Path("ca.pem"), client=None)

    def pause(self) -> None:
        self.running = False

    def resume(self) -> None:
        self.running = True


def study_of(server: str, **more: str) -> Study:
    study = override(load_study("tax"), "server", server.split(","))
    for factor, levels in more.items():
        study = override(study, factor, levels.split(","))
    return study


def fake_bench() -> Any:
    return SimpleNamespace(server=FakeServer())


def running(study_benches: Benches) -> list[str]:
    return [choice.words() for choice, bench in study_benches.benches.items() if bench.server.running]  # type: ignore[attr-defined]


def filled(study: Study) -> Benches:
    made = Benches(MACHINE, ())
    for choice in server_choices(study):
        made.add(choice, fake_bench())
    return made


def test_only_the_server_of_a_trial_runs() -> None:
    study = study_of("mysql-9.7,mariadb-11.8", tls_library="openssl-3.0,openssl-3.5.5")
    several = filled(study)
    assert running(several) == []
    for case in cases(study):
        with several.awake(case.levels):
            assert running(several) == [f"{case.levels['server']} over {case.levels['tls_library']}"]
    with pytest.raises(MachineFault), several.awake(cases(study)[0].levels):
        raise MachineFault("the trial failed")
    assert running(several) == []


def test_the_one_server_of_a_study_is_never_paused() -> None:
    alone = filled(load_study("tax"))
    with alone.awake(cases(load_study("tax"))[0].levels):
        assert running(alone) == ["the default server"]
    assert running(alone) == ["the default server"]


def test_a_server_is_named_by_what_it_is() -> None:
    assert ServerChoice("mysql-9.7", "openssl-3.0", 2).words() == "mysql-9.7 over openssl-3.0, a second one"
    assert ServerChoice("mysql-9.7", instance=3).words() == "mysql-9.7, number 3"
    study = study_of("mysql-9.7", tls_library="own,openssl-3.0", client_tls_library="openssl-3.6")
    assert tls_libraries(study) == ("openssl-3.6", "openssl-3.0")


@pytest.fixture
def nothing_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(name: str, *_: object) -> None:
        raise MachineFault(f"{name} is gone from the mirror", remedy="try later")

    monkeypatch.setattr(benches, "engine_command", lambda: ["engine"])
    monkeypatch.setattr(benches, "named_server", lambda name, _: name)
    monkeypatch.setattr(benches, "named_tls_library", gone)


@pytest.mark.usefixtures("nothing_to_be_had")
def test_what_cannot_be_had_is_named_with_the_option_that_leaves_it_out() -> None:
    with pytest.raises(MachineFault) as caught:
        obtain(study_of("mysql-9.7", tls_library="own,openssl-3.0"), lambda _: None)
    assert caught.value.sentence() == (
        "openssl-3.0 is gone from the mirror; try later, or leave it out with --tls-library own"
    )
    with pytest.raises(MachineFault) as caught:
        obtain(study_of("mysql-9.7", client_tls_library="openssl-3.0"), lambda _: None)
    assert caught.value.sentence() == "openssl-3.0 is gone from the mirror; try later"


def test_the_baseline_of_a_study_cannot_be_left_out() -> None:
    study = study_of("mysql-9.7,mariadb-11.8")
    compared = Study.model_validate({**dict(study), "baseline": {**study.baseline, "server": "mysql-9.7"}})
    error: TlstaxError = UserMistake("no", remedy="do")
    assert left_out(error, compared, {"server": "mysql-9.7"}) is error
    named = compared.model_copy(update={"name": "mine"})
    assert "with --set server=mysql-9.7" in left_out(error, named, {"server": "mariadb-11.8"}).sentence()


def test_the_load_client_is_one_of_the_specimens(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resumed run is compared with them: another engine is another measurement."""
    engine = fake_header().specimens[-1]
    monkeypatch.setattr(benches, "engine_specimen", lambda: engine)
    assert Specimens({}, {}).described() == (engine,)


def test_only_the_load_clients_that_a_study_needs_are_had(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = fake_header().specimens[-1]
    sysbench = engine.model_copy(update={"name": "sysbench-1.0.20"})
    programs = {"engine": ClientProgram(engine, ["engine"]), "sysbench": ClientProgram(sysbench, ["sb"])}
    monkeypatch.setattr(benches, "engine_command", lambda: ["engine"])
    monkeypatch.setattr(benches, "default_server", lambda _: SimpleNamespace(specimen=engine))
    monkeypatch.setattr(benches, "obtain_client", lambda name, _: programs[name])
    had = obtain(override(load_study("tax"), "client", ["sysbench"]), lambda _: None)
    assert had.described()[1:] == (sysbench,)
    had = obtain(override(load_study("tax"), "client", ["engine", "sysbench"]), lambda _: None)
    assert had.described()[1:] == (engine, sysbench)


def test_a_server_that_is_not_ours_is_measured_with_clients_that_tell_what_they_negotiated() -> None:
    kept = override(load_study("tax"), "workload", ["ping"])
    study = override(kept, "client", ["mysqlslap-9.7"])
    with pytest.raises(UserMistake, match="does not tell what its connections have negotiated"):
        external.check_external(study)


def test_a_server_that_is_not_ours_is_not_copied() -> None:
    study = override(override(load_study("tax"), "connections", [1]), "client", ["engine", "mysqldump"])
    study = override(study, "workload", ["stream"])
    with pytest.raises(UserMistake, match="by rights and for a time that no external one has promised"):
        external.check_external(study)


def test_only_a_server_that_is_copied_keeps_a_log() -> None:
    kept = {
        choice.server: replicates(load_study(name), choice)
        for name in ("streams", "tax")
        for choice in server_choices(load_study(name))
    }
    assert kept.pop(None) is False
    assert set(kept.values()) == {True}


def test_a_load_client_that_cannot_be_had_is_named_with_the_way_around_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def gone(name: str, _: object) -> ClientProgram:
        if name == "engine":
            return ClientProgram(fake_header().specimens[-1], ["engine"])
        raise MachineFault("the mirror does not answer", remedy="try later")

    monkeypatch.setattr(benches, "engine_command", lambda: ["engine"])
    monkeypatch.setattr(benches, "default_server", lambda _: None)
    monkeypatch.setattr(benches, "obtain_client", gone)
    study = override(load_study("tax"), "client", ["engine", "sysbench"])
    for name, option in (("tax", "--client engine"), ("mine", "--set client=engine")):
        with pytest.raises(MachineFault) as caught:
            obtain(study.model_copy(update={"name": name}), lambda _: None)
        assert caught.value.sentence() == (
            "the load client sysbench is not available: the mirror does not answer; try later, or leave it "
            f"out with {option}"
        )


@pytest.fixture
def startable(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Servers that start and stop on paper; the names of those that are up."""
    up: list[str] = []

    @contextmanager
    def private_bench(_: object, wanted: Any, *__: object) -> Iterator[Any]:
        name = f"{wanted.build}/{wanted.tls_library}"
        if wanted.build == "broken":
            raise MachineFault("it did not start: no such option")
        up.append(name)
        server: Any = FakeServer()
        terms: Any = SimpleNamespace(model_copy=lambda update: update)
        admin: Any = None
        try:
            yield PrivateBench(server, terms, MACHINE, admin)
        finally:
            up.remove(name)

    @contextmanager
    def session() -> Iterator[None]:
        yield

    monkeypatch.setattr(benches, "private_bench", private_bench)
    monkeypatch.setattr(benches, "open_session", session)
    monkeypatch.setattr(benches, "describe_machine", lambda: MACHINE)
    uncounted = Usable((), dict.fromkeys(INSTRUCTIONS, "there is no counter"))
    monkeypatch.setattr(benches.countable, "usable_events", lambda: uncounted)
    monkeypatch.setattr(Specimens, "described", lambda _: ())
    return up


def test_each_server_is_started_once_and_all_are_taken_down(startable: list[str]) -> None:
    study, said = study_of("mysql-9.7,mariadb-11.8"), list[str]()
    builds: Any = {name: name for name in ("mysql-9.7", "mariadb-11.8")}
    with open_benches(study, Specimens(builds, {}), NEEDS, said.append) as opened:
        assert startable == ["mysql-9.7/None", "mariadb-11.8/None"]
        assert running(opened) == []
    assert startable == []
    assert [line.partition(" (")[0] for line in said] == [
        "starting 1 of 2: mysql-9.7",
        "starting 2 of 2: mariadb-11.8",
    ]
    assert opened.machine.notes[-1] == "instructions are not counted: there is no counter"


def test_a_server_that_does_not_start_ends_the_study_before_its_first_trial(startable: list[str]) -> None:
    builds: Any = {name: name for name in ("mysql-9.7", "broken")}
    with (
        pytest.raises(MachineFault) as caught,
        open_benches(study_of("mysql-9.7,broken"), Specimens(builds, {}), NEEDS, lambda _: None),
    ):
        pytest.fail("it was opened all the same")
    assert caught.value.sentence() == (
        "broken cannot be measured: it did not start: no such option; leave it out with --server mysql-9.7"
    )
    assert startable == []


def test_a_certificate_that_a_server_does_not_take_is_named_with_the_way_around_it(
    startable: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = benches.private_bench

    def private_bench(session: Any, wanted: Any, *rest: Any) -> Any:
        build = "broken" if wanted.certificate == "ec-p256" else wanted.build
        return opened(session, SimpleNamespace(build=build, tls_library=None), *rest)

    monkeypatch.setattr(benches, "private_bench", private_bench)
    builds: Any = {"mysql-9.7": "mysql-9.7"}
    study = study_of("mysql-9.7", certificate="rsa-2048,ec-p256")
    with (
        pytest.raises(MachineFault) as caught,
        open_benches(study, Specimens(builds, {}), NEEDS, lambda _: None),
    ):
        pytest.fail("it was opened all the same")
    assert caught.value.sentence() == (
        "mysql-9.7 with an EC P-256 certificate cannot be measured: it did not start: no such option; "
        "leave it out with --set certificate=rsa-2048"
    )
    assert startable == []


def test_a_server_that_is_not_ours_is_given_no_library() -> None:
    study = override(load_study("tax"), "tls_library", ["openssl-3.0"])
    with pytest.raises(UserMistake, match="keeps what it has: tls_library cannot be chosen there"):
        external.check_external(study)


OLD, NEW = ServerChoice("mysql-5.6.14"), ServerChoice("mysql-9.7")
BOTH = study_of("mysql-5.6.14,mysql-9.7")


def test_an_old_server_gets_the_newest_version_that_it_has() -> None:
    cut = cut_to(BOTH, {OLD: ["1.3", "1.2"]}, {OLD: {"1.0": False}})
    levels = {
        server: {
            (case.levels["tls"], case.levels["resumption"])
            for case in cases(cut)
            if case.levels["server"] == server
        }
        for server in ("mysql-5.6.14", "mysql-9.7")
    }
    assert levels["mysql-5.6.14"] == {("off", "off"), ("1.0", "off")}
    assert levels["mysql-9.7"] == {("off", "off"), ("1.3", "off"), ("1.3", "on"), ("1.2", "off")}
    assert {"mysql-5.6.14 has no TLS 1.3", "mysql-9.7 has newer versions"} <= {e.why for e in cut.exclude}


def test_a_server_that_resumes_is_measured_resuming_and_one_without_tls_in_the_clear() -> None:
    alone = study_of("mysql-5.6.14")
    resuming = cut_to(alone, {OLD: ["1.3", "1.2"]}, {OLD: {"1.1": True, "1.0": True}})
    assert {(c.levels["tls"], c.levels["resumption"]) for c in cases(resuming)} == {
        ("off", "off"),
        ("1.1", "off"),
        ("1.1", "on"),
    }
    clear = cut_to(alone, {OLD: ["1.3", "1.2"]}, {OLD: {}})
    assert {case.levels["tls"] for case in cases(clear)} == {"off"}


def test_servers_are_asked_only_where_they_were_named(monkeypatch: pytest.MonkeyPatch) -> None:
    has = {OLD: {"1.0": True}, NEW: {"1.3": True, "1.2": True}}
    monkeypatch.setattr(
        tls_support,
        "_asked",
        lambda _study, _benches, choice, versions: {
            v: able for v, able in has[choice].items() if v in versions
        },
    )
    said: list[str] = []
    assert tls_support.settled(load_study("tax"), filled(load_study("tax")), said.append, as_able=True) == (
        load_study("tax")
    )
    with pytest.raises(UserMistake) as caught:
        tls_support.settled(BOTH, filled(BOTH), said.append, as_able=False)
    assert "mysql-5.6.14 has no TLS 1.3 and no TLS 1.2 (it has TLS 1.0)" in caught.value.sentence()
    assert said == []
    cut = tls_support.settled(BOTH, filled(BOTH), said.append, as_able=True)
    assert {c.levels["tls"] for c in cases(cut) if c.levels["server"] == "mysql-5.6.14"} == {"off", "1.0"}
    assert said == ["mysql-5.6.14 has no TLS 1.3 and no TLS 1.2: measured with what it has (it has TLS 1.0)"]


def test_a_server_that_is_not_observed_is_a_process_of_its_own() -> None:
    """Its counters would be opened before it starts, and inherited by all that it does."""
    choices = server_choices(load_study("observers"))
    assert [(choice.instance, choice.observed) for choice in choices] == [
        (1, False),
        (1, True),
        (2, False),
        (2, True),
    ]
    assert choices[2].words() == "the default server, a second one, not observed"
    assert all(choice.observed for choice in server_choices(load_study("tax")))


def test_only_servers_that_are_observed_are_given_counters(
    startable: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    observed: list[bool] = []
    opened = benches.private_bench

    def private_bench(session: Any, wanted: Any, equipment: Equipment, *rest: Any) -> Any:
        assert equipment.counted_events == INSTRUCTIONS
        observed.append(wanted.observed)
        return opened(session, wanted, equipment, *rest)

    monkeypatch.setattr(benches, "private_bench", private_bench)
    monkeypatch.setattr(benches.countable, "usable_events", lambda: Usable(INSTRUCTIONS))
    builds: Any = {None: "mysql-9.7"}
    with open_benches(load_study("observers"), Specimens(builds, {}), NEEDS, lambda _: None):
        assert len(startable) == 4
    assert observed == [False, True, False, True]


@pytest.mark.parametrize(
    ("factor", "level"),
    [("observers", "none"), ("certificate", "rsa-4096"), ("tls_switch", "server"), ("durability", "none")],
)
def test_a_server_that_is_not_ours_keeps_its_settings(factor: str, level: str) -> None:
    with pytest.raises(UserMistake, match=f"{factor} cannot be chosen there"):
        external.check_external(override(load_study("tax"), factor, [level]))


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("pgbouncer-terminate", {"load": "kept"}),
        ("pgbouncer-1.18-terminate-password", {"load": "secret"}),
        ("haproxy", {}),
    ],
)
def test_a_pooler_is_given_what_the_server_keeps_or_the_password(path: str, given: dict[str, str]) -> None:
    server = SimpleNamespace(
        load_account=SimpleNamespace(user="load", password="secret"),
        product=SimpleNamespace(accounts=SimpleNamespace(kept_secrets=lambda _: {"load": "kept"})),
    )
    assert benches.pooler_secrets(cast(Any, SimpleNamespace(server=server, admin=None)), path) == given
