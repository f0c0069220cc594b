"""Fake sampled runs with exact numbers: each stack's cost is known, and trials and samples add up to it.

`sampled_run` makes a whole run of a study in which every case runs twice a block, once sampled. Without
noise, an explanation of it must give back the numbers that went in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from math import exp
from random import Random

from fake_trials import fake_header, fake_record, reconnecting
from tlstax.plan.order import blocks
from tlstax.records.profiles.stacks import Profile, Side, SideProfile
from tlstax.records.trial import StoredRun, Trial, TrialRecord
from tlstax.study import Case, Study

ROOT = "_start [mysqld];handle_connection [mysqld]"
LOGIN = f"{ROOT};thd_prepare_connection [mysqld]"
ENGINE = "_start [tlstax-engine];tlstax_load::worker::Worker::work [tlstax-engine]"

SALT = f"{LOGIN};generate_user_salt [mysqld]"
SOCKET = f"{ROOT};vio_write [mysqld];__send [libc.so.6];__x64_sys_sendto [kernel];tcp_sendmsg [kernel]"
QUERY = f"{ROOT};do_command [mysqld];dispatch_command [mysqld]"
MALLOC = f"{QUERY};my_malloc [mysqld];malloc [libtcmalloc.so.4]"
WAKING = f"{SOCKET};sock_def_readable [kernel];try_to_wake_up [kernel]"
NOBODYS = "[cut off];[unknown] [libmystery.so]"

PLAIN: dict[str, float] = {
    f"{LOGIN};acl_authenticate [mysqld]": 30.0,
    f"{SALT};RAND_bytes [libcrypto.so.3];EVP_RAND_generate [libcrypto.so.3]": 2.0,
    SOCKET: 60.0,
    QUERY: 80.0,
    MALLOC: 20.0,
    WAKING: 6.0,
    NOBODYS: 2.0,
}
"""What a connection in the clear costs the server, in µs."""

CLIENT: dict[str, float] = {f"{ENGINE};__write [libc.so.6];tcp_sendmsg [kernel]": 40.0, ENGINE: 10.0}

OPENED = "RAND_bytes [libtale.so];open64 [libc.so.6];do_syscall_64 [kernel];do_sys_openat2 [kernel]"
DRAWN = (
    "RAND_bytes [libtale.so];read [libc.so.6];vfs_read [kernel];urandom_read_iter [kernel];chacha [kernel]"
)
"""What a preloaded RAND_bytes does, in a file whose name no rule can know."""

Stacks = Mapping[str, float]
Costs = Callable[[Case], tuple[Stacks, Stacks]]
"""What each stack of the server and of the client costs in a case, in µs per operation."""


def planted(stacks: Stacks, us: float) -> dict[str, float]:
    """The same server with salts from a preloaded library: 3/5 drawing in the kernel, 2/5 opening files."""
    kept = {stack: cost for stack, cost in stacks.items() if "RAND_bytes" not in stack}
    return {**kept, f"{SALT};{DRAWN}": us * 0.6, f"{SALT};{OPENED}": us * 0.4}


def sampled_study(*treatments: dict[str, str | int], **changes: object) -> Study:
    """A study of reconnecting in which the first treatment is the baseline, with a control."""
    return Study.model_validate(
        {
            "name": "auth-rng",
            "title": "What costly random numbers cost a login",
            "question": "Where does it go?",
            "factors": {"workload": ["reconnect"], "connections": [8]},
            "treatments": treatments,
            "baseline": treatments[0],
            "profile": True,
            **changes,
        }
    )


FAULT_STUDY = sampled_study({"tls": "off", "fault": "none"}, {"tls": "off", "fault": "rand-per-byte"})


def sampled_run(  # noqa: PLR0913 (each is a choice of its own, with a default)
    costs: Costs,
    study: Study = FAULT_STUDY,
    *,
    number_of_blocks: int = 6,
    noise: float = 0.0,
    seed: int = 7,
    samples_per_us: float = 100.0,
    latencies: bool = True,
) -> StoredRun:
    """A complete run: each case measured and sampled in every block, each trial `noise` (log-normal) off.

    Without `latencies` there are no histograms, whose encoding takes most of the time.
    """
    header = fake_header(study, seed=seed)
    generator = Random(seed)  # noqa: S311 (noise, not a secret)
    records: list[TrialRecord] = []
    for block in islice(blocks(study, seed), number_of_blocks):
        drift = exp(generator.gauss(0.0, noise))
        for trial in (trial for trial in block if not trial.profiled):
            server, client = costs(trial.case)
            factor = drift * exp(generator.gauss(0.0, noise))
            records.append(_measured(trial, server, client, factor, latencies=latencies))
            position = len(block) + trial.position
            twin = trial.model_copy(update={"profiled": True, "position": position})
            records.append(_sampled(twin, server, client, samples_per_us, generator if noise else None))
    return StoredRun(header=header, status="complete", trials=tuple(records))


def _measured(
    trial: Trial, server: Stacks, client: Stacks, factor: float = 1.0, *, latencies: bool
) -> TrialRecord:
    """One server on one processor that is busy all the time: its cost decides the rate."""
    server_us, client_us = sum(server.values()) * factor, sum(client.values()) * factor
    truth = reconnecting(1e6 / server_us, server_us, client_us, handshake=0.0)
    return fake_record(trial, truth if latencies else replace(truth, phase_us={}))


def _sampled(
    trial: Trial, server: Stacks, client: Stacks, samples_per_us: float, generator: Random | None
) -> TrialRecord:
    """The same trial under perf, half as fast again: what its own CPU time is must not matter."""
    record = _measured(trial, server, client, factor=1.5, latencies=False)
    profile = Profile(
        event="cpu-clock",
        frequency_hz=999,
        kernel=True,
        server=_samples(server, samples_per_us, generator),
        client=_samples(client, samples_per_us, generator),
    )
    return record.model_copy(update={"profile": profile})


def _samples(stacks: Stacks, samples_per_us: float, generator: Random | None) -> SideProfile:
    """As many as the cost is worth, give or take their root where a generator makes them scatter."""
    counts = {}
    for stack, us in stacks.items():
        expected = us * samples_per_us
        scatter = generator.gauss(0.0, expected**0.5) if generator else 0.0
        counts[stack] = max(0, round(expected + scatter))
    return SideProfile(stacks=counts)


def without(run: StoredRun, side: Side) -> StoredRun:
    """The same run with one side out of reach of the sampler."""
    return run.model_copy(
        update={
            "trials": tuple(
                record
                if record.profile is None
                else record.model_copy(update={"profile": record.profile.model_copy(update={side: None})})
                for record in run.trials
            )
        }
    )
