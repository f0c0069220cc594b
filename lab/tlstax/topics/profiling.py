"""What was sampled of a run, and what that cost: profiled trials beside their blocks' others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tlstax.records.profiles.stacks import KERNEL, SIDES, UNKNOWN, Frame, Profile, Side, frames
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.stats.estimates import counts_of
from tlstax.stats.outcomes import log_ratio_between
from tlstax.stats.pooling import Pooling, machines_of
from tlstax.stats.series import pooled
from tlstax.stats.wording import percent
from tlstax.study.outcomes import UNITS
from tlstax.support.text import counted
from tlstax.topics.core import figures
from tlstax.topics.core.columns import SIDE, Column
from tlstax.topics.core.topic import Run, Topic

MOST_LOST = 0.01
MUCH_SLOWER = 0.8
"""A profiled trial that does less than this share of the work is reported."""

COSTS = {
    "ops_per_s": "operations per second",
    "server_cpu_us_per_op": "server CPU per operation",
    "client_cpu_us_per_op": "client CPU per operation",
}


def rows(run: Run) -> Iterator[Row]:
    """What was sampled, how much of each side's CPU time has samples, and what sampling cost.

    The first has the samples, and as caveats what is to be borne in mind; nothing of it bears on the results.
    Of a process that sleeps often, perf misses some. A cost is the ratio of a profiled trial to the
    unprofiled one of the same case and block, its logarithms pooled over the cases of a block, and the
    interval taken over blocks.
    """
    stored = run.stored
    if not stored.profiled:
        return
    profiles = [record.profile for record in stored.profiled if record.profile is not None]
    sides = [side for side in SIDES if any(profile.side(side) for profile in profiles)]
    costs = {name: ratio for name in COSTS if (ratio := _cost(stored, name)) is not None}
    trials = counts_of(stored.profiled)
    sampled = Row(
        outcome="samples",
        unit="1",
        role="profiles",
        value=sum(
            seen.samples for profile in profiles for side in SIDES if (seen := profile.side(side)) is not None
        ),
        more={
            "trials_valid": trials.valid,
            "trials_invalid": trials.invalid,
            "trials_unknown": trials.unknown,
            "profiles": len(profiles),
            "samples_lost": sum(profile.lost for profile in profiles),
            "event": profiles[0].event if profiles else None,
            "frequency_hz": profiles[0].frequency_hz if profiles else None,
            "kernel": any(profile.kernel for profile in profiles),
            "kernel_names": any(map(_names_the_kernel, profiles)),
        },
    )
    whys = Counter(record.why_no_profile for record in stored.profiled if record.why_no_profile)
    why_none = [f"{why} ({times})" if times > 1 else why for why, times in whys.most_common()]
    caveats = caveats_of(sampled, sides, why_none, costs.get("ops_per_s"))
    yield sampled.model_copy(update={"caveats": caveats})
    for side in sides:
        covered = _coverage(stored.profiled, side)
        yield Row(outcome="sampled_share", unit="1", role="coverage", value=covered, more={"side": side})
    for name, ratio in costs.items():
        yield Row(outcome=name, unit=UNITS[name], interval=ratio, of="ratio")


def caveats_of(
    sampled: Row, sides: Sequence[Side], why_none: Sequence[str], speed: Interval | None
) -> tuple[str, ...]:
    """What to bear in mind of the profiles: `speed` is what a profiled trial does to what others do."""
    known = sampled.more
    not_valid = round((sampled.number("trials_invalid") or 0) + (sampled.number("trials_unknown") or 0))
    lost, samples = sampled.number("samples_lost") or 0.0, sampled.amount
    lost_share = lost / (samples + lost) if lost else 0.0
    caveats = (
        (
            not_valid > 0,
            f"{counted(not_valid, 'profiled trial')} not valid, and what was sampled there left out",
        ),
        (bool(why_none), f"profiled trials without a profile: {'; '.join(why_none)}"),
        (list(sides) == ["client"], "only the client was sampled: the server's process is out of reach"),
        (
            known["profiles"] and not known["kernel"],
            "only user space was sampled: the profiles lack the kernel",
        ),
        (
            known["kernel"] and not known["kernel_names"],
            "the kernel's functions have no names in the profiles (`tlstax doctor` says why)",
        ),
        (lost_share > MOST_LOST, f"perf lost {percent(lost_share)} of the samples"),
        (
            speed is not None and speed.point < MUCH_SLOWER,
            "sampling slowed the profiled trials down a lot: they may spend their time on other things",
        ),
    )
    return tuple(text for applies, text in caveats if applies)


def _coverage(records: Iterable[TrialRecord], side: Side) -> float | None:
    """Samples in relation to those that the process's CPU time over the window should have given."""
    seen, due = 0, 0.0
    for record in records:
        profile, done = record.profile, record.done
        found = profile.side(side) if profile is not None else None
        server = record.server.cpu if record.server is not None else None
        cpu = server if side == "server" else done.cpu if done is not None else None
        if profile is not None and found is not None and cpu is not None:
            seen += found.samples
            due += profile.frequency_hz * (cpu.total_us if profile.kernel else cpu.user_us) / 1e6
    return seen / due if due else None


def _cost(stored: StoredRun, name: str) -> Interval | None:
    def place(record: TrialRecord) -> tuple[str, int]:
        return record.trial.case.key(), record.trial.block

    unprofiled = {place(record): record for record in stored.valid}
    logs: dict[str, dict[int, float]] = {}
    for record in stored.profiled:
        key, block = place(record)
        beside = unprofiled.get((key, block))
        if record.profile is None or not record.is_valid or beside is None:
            continue
        ratio = log_ratio_between(record, beside, name)
        if ratio is not None:
            logs.setdefault(key, {})[block] = ratio
    blocks = pooled(dict(enumerate(logs.values())))
    if not blocks:
        return None
    return Pooling(stored.header.study.confidence, machines_of(stored.trials)).interval(blocks)


def _names_the_kernel(profile: Profile) -> bool:
    """Whether any frame of the kernel has its function's name (see kptr_restrict in proc(5))."""
    unnamed, ending = Frame(UNKNOWN, KERNEL).text(), f" [{KERNEL}]"
    return any(
        frame.library == KERNEL and frame.text() != unnamed
        for side in SIDES
        if (found := profile.side(side)) is not None
        for stack in found.stacks
        if ending in stack
        for frame in frames(stack)
    )


def sentences(_: Run, found: Sequence[Row]) -> Iterator[str]:
    """What was sampled besides, and what that cost."""
    sampled = found[0]
    known = sampled.more
    trials = round(sum(sampled.number(f"trials_{name}") or 0 for name in ("valid", "invalid", "unknown")))
    if not known["profiles"]:
        yield f"none: {counted(trials, 'trial')} besides, of which nothing could be sampled"
        return
    where = "user space and kernel" if known["kernel"] else "user space alone"
    shares = {row.word("side"): row.value for row in found if row.role == "coverage"}
    covered = ", ".join(
        f"{percent(share)} of the {side}'s" for side, share in shares.items() if share is not None
    )
    costs = ", ".join(
        f"{figures.change_with_interval(row.interval)} {COSTS[row.outcome]}"
        for row in found
        if row.outcome in COSTS and row.interval is not None
    )
    of_time = f", {covered} CPU time" if covered else ""
    shown = f"; sampled, the same cases show {costs}" if costs else ""
    yield (
        f"{counted(trials, 'trial')} besides ({known['trials_valid']:,} valid), {sampled.value:,.0f} samples "
        f"of {where} ({known['event']}, {known['frequency_hz']} Hz){of_time}{shown}"
    )


COLUMNS = (
    SIDE,
    Column("trials_valid", "INTEGER", "how many profiled trials were valid"),
    Column("trials_invalid", "INTEGER", "how many profiled trials were invalid"),
    Column("trials_unknown", "INTEGER", "how many profiled trials could not be judged"),
    Column("profiles", "INTEGER", "how many profiled trials have a profile"),
    Column("samples_lost", "INTEGER", "how many samples perf dropped"),
    Column("event", "TEXT", "what perf sampled by"),
    Column("frequency_hz", "INTEGER", "how often a running process was sampled", "Hz"),
    Column("kernel", "INTEGER", "whether the kernel was sampled too"),
    Column("kernel_names", "INTEGER", "whether the kernel's functions could be told apart"),
)

TOPIC = Topic("profiling", "Profiles", rows, lambda *_: iter(()), sentences, COLUMNS)
"""It has no section: the sentence stands among the facts of the run."""
