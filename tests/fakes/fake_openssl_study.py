"""A fake run of the study of OpenSSL versions, with what is so in the fake world planted in it.

Under MySQL 9.7 and MariaDB 11.8, OpenSSL 3.5.5 does a tenth more than 3.0 where every select makes a
full handshake of TLS 1.3; the twins are a hundredth faster than their first processes in everything;
nothing else differs between libraries. The other servers are slower as a whole.
"""

from __future__ import annotations

from functools import cache

from fake_trials import Truth, fake_run, kept, reconnecting
from tlstax.records.trial import LibraryClaim, MappedLibrary, ServerClaim, StoredRun, TrialRecord
from tlstax.study import Case, Study, load_study

GAIN = 1.10
TWIN = 1.01
SERVER_SPEEDS = {"mysql-9.7": 1.0, "mariadb-11.8": 0.9, "mysql-8.0.33": 0.8}
SPEEDUPS = {1: 1.0, 2: 1.9, 4: 3.4, 8: 5.5, 16: 6.2, 32: 6.3, 64: 6.2, 128: 6.0, 256: 5.7}
TLS_COST = {
    ("point-select", "1.3", "off"): 0.93,
    ("point-select", "1.2", "off"): 0.94,
    ("point-select", "1.3", "on"): 0.93,
    ("reconnect", "1.3", "off"): 0.2,
    ("reconnect", "1.2", "off"): 0.23,
    ("reconnect", "1.3", "on"): 0.45,
}


def openssl_study(**factors: tuple[str | int, ...]) -> Study:
    """The built-in study, narrowed to these levels of some of its factors."""
    study = load_study("openssl-versions")
    return Study.model_validate({**dict(study), "factors": {**study.factors, **factors}})


def is_planted(case: Case) -> bool:
    """Whether 3.5.5's gain is planted in this case."""
    levels = case.levels
    mode = (levels["workload"], levels["tls"], levels["resumption"])
    return levels["tls_library"] == "openssl-3.5.5" and mode == ("reconnect", "1.3", "off")


def truth(case: Case) -> Truth:
    """What is so for a case of the fake world."""
    levels = case.levels
    mode = (str(levels["workload"]), str(levels["tls"]), str(levels["resumption"]))
    share = TLS_COST.get(mode, 1.0)
    if levels["workload"] == "point-select":
        # Few operations: the fake's histograms take as long as they have values.
        found = kept(4_000 * share, 26.0 / share, 8.4, record_bytes=22)
    else:
        found = reconnecting(800 * share, 190.0 / share, 74.0 / share, handshake=0.0 if share == 1 else 0.5)
    factor = SERVER_SPEEDS.get(str(levels["server"]), 0.7) * SPEEDUPS[int(levels["connections"])]
    factor *= TWIN if levels["instance"] == 2 else 1.0
    return found.times(factor * (GAIN if is_planted(case) else 1.0))


def with_claim(record: TrialRecord) -> TrialRecord:
    """The trial with what its server was meant to be, and was: each library a file of its own."""
    levels = record.trial.case.levels
    server, library = str(levels["server"]), str(levels["tls_library"])
    folder, checksum = f"/cache/{server}/{library}", f"{sum(map(ord, library)) % 251:02x}" * 32
    files = () if library == "own" else tuple(
        MappedLibrary(path=f"{folder}/{name}.so", sha256=checksum) for name in ("libcrypto", "libssl")
    )  # fmt: skip
    word = "WolfSSL 5.7.6" if library == "own" else library.replace("openssl-", "OpenSSL ")
    claim = ServerClaim(
        name=server,
        version=server.partition("-")[2],
        program=f"/cache/{server}/bin/server",
        pid=1000 + sum(map(ord, server + library)) + int(levels["instance"]),
        data_directory=f"/run/{server}-{library}-{levels['instance']}",
        tls_library=LibraryClaim(
            name=library, version=word, libssl_sha256=checksum, libcrypto_sha256=checksum
        )
        if files
        else None,
    )
    assert record.server is not None
    observed = record.server.model_copy(
        update={
            "version": claim.version,
            "tls_library_version": word,
            "mapped_tls_libraries": files,
            "answering_pid": claim.pid,
            "program": claim.program,
        }
    )
    return record.model_copy(update={"claim": claim, "server": observed})


def openssl_run(study: Study | None = None, *, blocks: int = 5, noise: float = 0.015) -> StoredRun:
    """A run of the whole study, or of a part of it."""
    run = fake_run(study or openssl_study(), number_of_blocks=blocks, noise=noise, truth=truth, invalid=False)
    return run.model_copy(update={"trials": tuple(with_claim(record) for record in run.trials)})


@cache
def small_openssl_run() -> StoredRun:
    """Enough of it for every kind of comparison: three numbers of connections, five blocks."""
    return openssl_run(openssl_study(connections=(2, 8, 64)))
