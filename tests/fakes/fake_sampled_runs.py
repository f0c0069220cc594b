"""Fake profiled runs: fake trials, and beside each a sampled one whose stacks are known."""

from __future__ import annotations

from collections.abc import Mapping

from fake_trials import fake_run, whole_tax
from tlstax.records.profiles.stacks import Profile, SideProfile
from tlstax.records.trial import StoredRun, TrialRecord

ROOT = "_start [mysqld];handle_connection(void*) [mysqld]"
SQL = f"{ROOT};dispatch_command(THD*, COM_DATA const*, enum_server_command) [mysqld]"
SIGN = f"{ROOT};SSL_accept [libssl.so.3];EVP_DigestSign [libcrypto.so.3];RSA_private_encrypt [libcrypto.so.3]"
SEND = f"{ROOT};net_write [mysqld];__send [libc.so.6];tcp_sendmsg [kernel]"

PLAIN = {SQL: 60, SEND: 30, f"{ROOT};malloc [libtcmalloc_minimal.so.4]": 10}
ENCRYPTED = {SQL: 20, SEND: 15, SIGN: 60, f"{SIGN};bn_mul_mont [libcrypto.so.3]": 5}
CLIENT = {
    "main [tlstax-engine];tlstax_load::worker::Worker::run [tlstax-engine]": 80,
    "main [tlstax-engine]": 20,
}

PROFILE_FREQUENCY_HZ = 999


def profiled_run(
    *, blocks: int = 2, plain: Mapping[str, int] = PLAIN, encrypted: Mapping[str, int] = ENCRYPTED
) -> StoredRun:
    """The tax study without noise, each case of each block sampled once more."""
    run = fake_run(whole_tax(), number_of_blocks=blocks, noise=0.0, invalid=False)
    study = run.header.study.model_copy(update={"profile": True})
    run = run.model_copy(update={"header": run.header.model_copy(update={"study": study})})
    return with_profiles(run, plain=plain, encrypted=encrypted)


def with_profiles(
    run: StoredRun, *, plain: Mapping[str, int] = PLAIN, encrypted: Mapping[str, int] = ENCRYPTED
) -> StoredRun:
    """The run, and at the end of each block a sampled trial of each case."""
    positions = len({record.trial.position for record in run.trials})
    sampled = [_sampled(record, positions, plain, encrypted) for record in run.trials]
    trials = sorted((*run.trials, *sampled), key=lambda r: (r.trial.block, r.trial.position))
    return run.model_copy(update={"trials": tuple(trials)})


def profile_of(server: Mapping[str, int] | None, client: Mapping[str, int] | None = CLIENT) -> Profile:
    """A profile with these samples."""
    return Profile(
        event="cpu-clock",
        frequency_hz=PROFILE_FREQUENCY_HZ,
        kernel=True,
        server=None if server is None else SideProfile(stacks=dict(server)),
        client=None if client is None else SideProfile(stacks=dict(client)),
    )


def _sampled(
    record: TrialRecord, positions: int, plain: Mapping[str, int], encrypted: Mapping[str, int]
) -> TrialRecord:
    place = {"profiled": True, "position": record.trial.position + positions}
    server = plain if record.trial.case.levels["tls"] == "off" else encrypted
    return record.model_copy(
        update={"trial": record.trial.model_copy(update=place), "profile": profile_of(server)}
    )
