"""A fake engine that holds connections: what a trial leaves behind, without a trial."""

from __future__ import annotations

from tlstax.contract import Counts, CpuTime, Done, Negotiated, Ready, RowSample, TlsView, Wire
from tlstax.records.trial import Machine, ServerCpu
from tlstax.selfbench.plan import Trial
from tlstax.selfbench.records import Observation, ServerFacts

MACHINE = Machine(
    cpu_model="a processor",
    cores=2,
    memory_bytes=2**34,
    kernel="6.1",
    distribution="Debian",
    virtualization=None,
    server_cpus=(0,),
    client_cpus=(1,),
)

SERVER = ServerFacts(
    name="mysql-9.7", version="9.7.0", tls_library_version="OpenSSL 3.5.0", tls_versions="TLSv1.3"
)

SERVER_US = 20.0
"""What the server spends on an operation."""


def observation(trial: Trial, *, cpu_us_per_op: float, operations: int = 10_000) -> Observation:
    """What an engine leaves behind that does as it is told."""
    cell = trial.cell
    encrypted = cell.tls != "off"
    view = TlsView(version="TLSv1.3", cipher="TLS_AES_128_GCM_SHA256", resumed=None) if encrypted else None
    accepted = {"Ssl_finished_accepts": cell.connections} if encrypted else {}
    return Observation(
        trial=trial,
        ready=Ready(
            client="a client",
            client_version="1",
            pid=1,
            server_version="9.7.0",
            tls_library=None,
            negotiated=(Negotiated(connections=1, client=view, server=view),),
        ),
        done=done(cpu_us_per_op * operations, operations),
        setup_delta={"Connections": cell.connections, "Com_select": 100, **accepted},
        window_delta={"Com_select": operations, "Com_stmt_execute": operations},
        server_cpu=ServerCpu(
            total_us=SERVER_US * operations, user_us=15.0 * operations, system_us=5.0 * operations
        ),
    )


def done(cpu_us: float, operations: int) -> Done:
    counts = Counts(connections=0, handshakes=(), authentications={})
    return Done(
        elapsed_s=1.0,
        operations=operations,
        scheduled=operations,
        skipped=0,
        window=counts,
        lifetime=counts,
        histograms_ns={},
        cpu=CpuTime(total_us=cpu_us, user_us=cpu_us / 4, system_us=cpu_us * 3 / 4),
        wire=Wire(bytes_sent=1, bytes_received=1, segments_sent=None, segments_received=None),
        errors=(),
        row_samples=(RowSample(sql="SELECT 1", rows=(("1",),)),),
    )
