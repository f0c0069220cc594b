"""Every outcome that a trial may yield: its name, unit, direction and what it is in words."""

from __future__ import annotations

from dataclasses import dataclass

PERCENTILES = (50.0, 99.0, 99.9)
"""The percentiles of a latency that are outcomes; the last one of whole operations only."""


@dataclass(frozen=True)
class Outcome:
    """A number that a trial yields: its unit, which way is better (None: neither), and what it is."""

    name: str
    unit: str
    lower_is_better: bool | None
    words: str


PHASE_WORDS = {
    "operation": "latency of an operation",
    "connect": "time to connect, from the first SYN to the server's OK",
    "tcp_connect": "time of the TCP connect",
    "greeting": "wait for the server's greeting",
    "tls_handshake": "time of the TLS handshake",
    "authentication": "time of authentication",
    "first_query": "time of the first query on a connection",
    "query": "time of a query",
    "close": "time to close",
    "start_delay": "delay from when an operation was due to when it was begun",
}


COUNTED_WORDS = {
    "instructions": "instructions, in user space and in the kernel,",
    "cycles": "processor cycles, in user space and in the kernel,",
    "context_switches": "context switches",
}
"""What is counted of each side and divided by the operations."""

PROCESSOR_WORDS = {
    "machine_user_percent": "all processors in user space",
    "machine_system_percent": "all processors in the kernel, interrupts with it",
    "machine_iowait_percent": "all processors idle while something waits for a disk",
    "machine_steal_percent": "all processors taken by the host for others",
    "machine_idle_percent": "all processors idle",
    "server_cpus_system_percent": "the server's processors in the kernel, interrupts with it",
}
"""What the processors did, by the names that sar(1) has for it."""


def _percentile_outcomes() -> list[Outcome]:
    nths = {percentile: f"{percentile:g}th percentile of the" for percentile in PERCENTILES} | {50: "median"}
    return [
        _cost(percentile_name(phase, percentile), "us", f"{nths[percentile]} {words}")
        for phase, words in PHASE_WORDS.items()
        for percentile in (PERCENTILES if phase == "operation" else PERCENTILES[:2])
    ]


def percentile_name(phase: str, percentile: float) -> str:
    """What a percentile of a phase is called: "latency_p99_us" for operations, else "connect_p50_us"."""
    stem = "latency" if phase == "operation" else phase
    return f"{stem}_p{f'{percentile:g}'.replace('.', '')}_us"


WIRE_PHASES = {
    "connect": (("connect",), "connect, from the first SYN to the server's OK"),
    "handshake": (("tls_handshake",), "TLS handshake"),
    "query": (("first_query", "query"), "query"),
}
"""What round trips and bytes are counted for: the phases that it is made of, and what it is in words."""


def _wire_outcomes() -> list[Outcome]:
    """What crossed the wire, counted by the client: exact, so that trials may agree to the last byte."""
    found = []
    for name, (_, words) in WIRE_PHASES.items():
        found.append(_cost(f"round_trips_per_{name}", "1", f"round trips of a {words}"))
        found.append(_cost(f"bytes_sent_per_{name}", "B", f"bytes of TCP payload sent in a {words}"))
        found.append(_cost(f"bytes_received_per_{name}", "B", f"bytes of TCP payload received in a {words}"))
    return found


def _cpu_outcomes(side: str) -> list[Outcome]:
    over = "per operation, over the whole window"
    return [
        _cost(f"{side}_cpu_us_per_op", "us", f"{side} CPU per operation"),
        _cost(f"{side}_cpu_user_us_per_op", "us", f"{side} CPU in user mode {over}"),
        _cost(f"{side}_cpu_system_us_per_op", "us", f"{side} CPU in the kernel {over}"),
    ]


def _counted_outcomes() -> list[Outcome]:
    """What the kernel and the processor count of each side; the client reports results after its window."""
    return [
        _cost(f"{side}_{name}_per_op", "1", f"{words} of the {side} per operation{also}")
        for side, also in (("server", ""), ("client", ", with those of telling its results"))
        for name, words in COUNTED_WORDS.items()
    ]


def _lock_outcomes() -> list[Outcome]:
    """What was counted of locks: exact, so that trials may agree to the last one."""
    return [
        _cost("server_locks_per_op", "1", "locks that the server's connections took per operation"),
        _cost("server_libssl_locks_per_op", "1", "locks that libssl took at the server per operation"),
        _cost("server_libcrypto_locks_per_op", "1", "locks that libcrypto took at the server per operation"),
        _cost(
            "server_locks_moved_per_op",
            "1",
            "locks of the server per operation that another thread had taken last",
        ),
        _cost("server_locks_contended_per_op", "1", "locks of the server per operation that were not free"),
        _cost("server_lock_waits_per_op", "1", "waits for a condition at the server per operation"),
    ]


def _processor_outcomes() -> list[Outcome]:
    """What the processors did over the window, from ticks: of 100 ms there are ten on each."""
    return [
        Outcome(name, "%", lower_is_better=None, words=f"{words}, in per cent of their time (coarse: ticks)")
        for name, words in PROCESSOR_WORDS.items()
    ]


def _cost(name: str, unit: str, words: str) -> Outcome:
    return Outcome(name, unit, lower_is_better=True, words=words)


OUTCOMES: dict[str, Outcome] = {
    outcome.name: outcome
    for outcome in (
        Outcome("ops_per_s", "1/s", lower_is_better=False, words="operations a second"),
        _cost("latency_mean_us", "us", "mean latency of an operation in the median slice"),
        *_percentile_outcomes(),
        Outcome(
            "connections_per_s",
            "1/s",
            lower_is_better=False,
            words="connections opened a second, the mean over a storm's rounds",
        ),
        Outcome(
            "connections_per_s_sd",
            "1/s",
            lower_is_better=None,
            words="standard deviation of the connections opened a second over a storm's rounds",
        ),
        _cost("total_s", "s", "total time of a trial of N operations"),
        _cost("round_s", "s", "mean time of a round of N operations"),
        _cost("statements_per_op", "1", "statements that the server counted per operation"),
        *_cpu_outcomes("server"),
        *_counted_outcomes(),
        *_cpu_outcomes("client"),
        _cost("client_read_bytes_per_op", "B", "bytes that the client read from files per operation"),
        _cost("path_cpu_us_per_op", "us", "CPU per operation of all programs between client and server"),
        _cost("all_cpu_us_per_op", "us", "CPU per operation of client, path and server together"),
        _cost(
            "client_overhead_us_per_op",
            "us",
            "client CPU per operation against a server that does nothing, in the clear: what the load client "
            "itself costs",
        ),
        _cost(
            "outside_client_us_per_op",
            "us",
            "time of an operation less the client's own CPU, on one connection: what the server takes, the "
            "network, and waking up",
        ),
        Outcome(
            "client_cpu_share", "1", lower_is_better=None, words="how busy the busiest client thread was"
        ),
        Outcome("server_cpu_share", "cores", lower_is_better=None, words="cores that the server kept busy"),
        _cost("server_rss_bytes", "B", "resident memory of the server"),
        _cost("server_pss_bytes", "B", "resident memory of the server, pages that are shared by their share"),
        _cost("server_threads", "1", "threads of the server while all connections were up"),
        _cost("client_rss_bytes", "B", "resident memory of the client while all connections were up"),
        _cost("bytes_per_op", "B", "bytes of TCP payload per operation, both ways"),
        _cost("bytes_sent_per_op", "B", "bytes of TCP payload that the client sent per operation"),
        _cost("bytes_received_per_op", "B", "bytes of TCP payload that the client received per operation"),
        Outcome("copy_bytes", "B", lower_is_better=None, words="bytes of a whole copy"),
        _cost("copy_wire_bytes", "B", "bytes that the server sent for a whole copy, on the wire"),
        *_wire_outcomes(),
        _cost("segments_per_op", "1", "TCP segments per operation, both ways"),
        _cost("records_sent_per_op", "1", "TLS records with data that the client sent per operation"),
        _cost("records_received_per_op", "1", "TLS records with data that the client received per operation"),
        *_processor_outcomes(),
        _cost("warmup_s", "s", "time that the client warmed up until it was steady"),
        _cost("cold_us_per_op", "us", "client CPU per operation in the first slice of its warm-up"),
        _cost("observers_cpu_us", "us", "CPU time of the laboratory itself while the window lasted"),
        *_lock_outcomes(),
    )
}
"""Every outcome, in the order of a report."""

UNITS: dict[str, str] = {name: outcome.unit for name, outcome in OUTCOMES.items()}
