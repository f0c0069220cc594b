"""A run begins with the CPUs that were asked for, goes on with those it had, or is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_trials import fake_run
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.records.beforehand import Pilot
from tlstax.records.trial import StoredRun
from tlstax.run.pilot import machine_of
from tlstax.support.errors import UserMistake

EIGHT = frozenset(range(8))


def four_cores(root: Path) -> Path:
    """Four cores of two threads each, 0 and 4, 1 and 5 and so on; the machine has four CPUs more than we."""
    for cpu in range(12):
        core = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        core.mkdir(parents=True)
        (core / "thread_siblings_list").write_text(f"{cpu % 4},{cpu % 4 + 4}\n" if cpu < 8 else f"{cpu}\n")
    return root


def begun_with(server: tuple[int, ...], client: tuple[int, ...]) -> StoredRun:
    """A run whose pilot chose these CPUs."""
    pilot = Pilot(server_cpus=(0, 1, 2, 4, 5, 6), client_cpus=(3, 7))
    run = fake_run(number_of_blocks=1)
    cpus = {"server_cpus": server, "client_cpus": client, "pilot": pilot}
    machine = run.header.machine.model_copy(update=cpus)
    return run.model_copy(update={"header": run.header.model_copy(update={"machine": machine})})


def test_the_cpus_that_were_asked_for_are_described(tmp_path: Path) -> None:
    machine = machine_of(AskedCpus(server=(0, 4)), None, EIGHT, four_cores(tmp_path))
    assert (machine.server_cpus, machine.client_cpus) == ((0, 4), (1, 2, 3, 5, 6, 7))
    assert machine.cpus_asked_for
    assert not [note for note in machine.notes if "one physical core" in note]


def test_without_a_wish_they_are_shared_out_by_default(tmp_path: Path) -> None:
    machine = machine_of(AskedCpus(), None, EIGHT, four_cores(tmp_path))
    assert (machine.server_cpus, machine.client_cpus) == ((0, 1, 2, 4, 5, 6), (3, 7))
    assert not machine.cpus_asked_for
    assert machine.pilot is None


def test_threads_of_one_core_on_both_sides_are_given_with_a_note(tmp_path: Path) -> None:
    machine = machine_of(AskedCpus(server=(0,), client=(4,)), None, EIGHT, four_cores(tmp_path))
    assert (machine.server_cpus, machine.client_cpus) == ((0,), (4,))
    assert "server and client run on threads of one physical core and slow each other" in machine.notes


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (AskedCpus(server=(12,)), "--server-cpus: this machine has no CPU 12; choose among CPU 0-7"),
        (AskedCpus(client=(1, 99999)), "--client-cpus: this machine has no CPU 99999"),
        (
            AskedCpus(client=(7, 8)),
            "--client-cpus: CPU 8 may not be used here: it is offline, or kept from this process; choose",
        ),
        (AskedCpus(server=(0,), client=(0,)), "--server-cpus and --client-cpus both name CPU 0"),
        (AskedCpus(server=tuple(range(8))), "--server-cpus: CPU 0-7 leaves none for the client"),
    ],
)
def test_cpus_that_cannot_be_had_are_refused(tmp_path: Path, asked: AskedCpus, says: str) -> None:
    with pytest.raises(UserMistake) as caught:
        machine_of(asked, None, EIGHT, four_cores(tmp_path))
    assert caught.value.sentence().startswith(says)


def test_a_resumed_run_has_the_cpus_that_its_pilot_chose(tmp_path: Path) -> None:
    resumed = begun_with((0, 4), (1, 2, 3, 5, 6, 7))
    machine = machine_of(AskedCpus(), resumed, EIGHT, four_cores(tmp_path))
    assert (machine.server_cpus, machine.client_cpus) == ((0, 4), (1, 2, 3, 5, 6, 7))
    assert machine.pilot == resumed.header.machine.pilot


def test_a_resumed_run_without_a_pilot_has_those_of_its_options_or_of_default(tmp_path: Path) -> None:
    root, resumed = four_cores(tmp_path), fake_run(number_of_blocks=1)
    assert machine_of(AskedCpus(), resumed, EIGHT, root).client_cpus == (3, 7)
    assert machine_of(AskedCpus(client=(1, 5)), resumed, EIGHT, root).client_cpus == (1, 5)


def test_a_run_whose_cpus_are_gone_is_not_resumed(tmp_path: Path) -> None:
    with pytest.raises(UserMistake) as caught:
        machine_of(AskedCpus(), begun_with((0, 4), (1, 5)), EIGHT - {4, 5}, four_cores(tmp_path))
    assert "was begun with server on CPU 0,4, client on CPU 1,5 and is now without CPU 4-5" in str(
        caught.value.sentence()
    )
