"""What two runs' headers say differently, and what makes comparing them unfair. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tlstax.records.trial import Machine, RunHeader, Specimen
from tlstax.results.document import HeaderChange
from tlstax.study import Study
from tlstax.support.errors import UserMistake
from tlstax.support.text import as_ranges

Tell = Callable[[Machine], str]

_MACHINE: dict[str, Tell] = {
    "processor": lambda own: own.cpu_model,
    "CPUs available": lambda own: str(own.cores),
    "virtual machine": lambda own: own.virtualization or "",
    "memory": lambda own: f"{own.memory_bytes / 2**30:.0f} GiB",
}
"""What makes a machine another one."""

_KNOWN: dict[str, Tell] = {
    **_MACHINE,
    "kernel": lambda own: own.kernel,
    "distribution": lambda own: own.distribution,
    "microcode": lambda own: own.microcode or "",
    "the server's CPUs": lambda own: as_ranges(own.server_cpus),
    "the client's CPUs": lambda own: as_ranges(own.client_cpus),
}
"""All that is known of one: what may change on it too."""

_LENGTH = "length of a trial"


def is_same_machine(one: Machine, other: Machine) -> bool:
    """Whether nothing that is known of them makes them two machines."""
    return all(tell(one) == tell(other) for tell in _MACHINE.values())


def different(before: RunHeader, after: RunHeader) -> tuple[HeaderChange, ...]:
    """All that may bear on what was measured and is not the same in both."""
    return tuple(
        HeaderChange(what=what, before=old, after=new)
        for what, old, new in (
            *((what, tell(before.machine), tell(after.machine)) for what, tell in _KNOWN.items()),
            *_specimens(before, after),
            ("tlstax", before.tlstax_version, after.tlstax_version),
            *_levels(before.study, after.study),
            ("study", before.study.name, after.study.name),
            (_LENGTH, f"{before.trial_duration_s:g} s", f"{after.trial_duration_s:g} s"),
            ("external server", str(before.guest), str(after.guest)),
        )
        if old != new
    )


def is_same_thing(one: RunHeader, other: RunHeader) -> bool:
    """Whether both set out to measure the same on the same machine, for however long.

    How their figures differ is then by how much runs differ, and nothing else that is known.
    """
    if one.all_machines.keys() != other.all_machines.keys() or one.guest != other.guest:
        return False
    own = one.study
    as_long = {"budget_s": own.budget_s, "precision": own.precision, "alike_within": own.alike_within}
    if other.study.model_copy(update=as_long) != own:
        return False
    return all(own.what == _LENGTH for own in different(one, other))


def check_fair(before: RunHeader, after: RunHeader) -> None:
    """UserMistake where a difference between the runs would be that of their tables or plans."""
    for header in (before, after):
        if len(header.machines) > 1:
            raise UserMistake(
                f"run {header.run} was measured on {len(header.machines)} machines, and is no single thing "
                "to compare",
                remedy=f"`tlstax report {header.run}` compares its machines",
            )
    old, new = before.study, after.study
    for what, *both in (
        ("the baseline", _words(old.baseline), _words(new.baseline)),
        ("the number of rows in a table", f"{old.rows:,}", f"{new.rows:,}"),
        ("the schedule", str(old.schedule), str(new.schedule)),
    ):
        if both[0] != both[1]:
            raise UserMistake(
                f"runs {before.run} and {after.run} cannot be compared: {what} is {both[0]} in one and "
                f"{both[1]} in the other",
                remedy="measure one of them again as the other was",
            )


def _words(levels: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={level}" for name, level in sorted(levels.items()))


def _specimens(before: RunHeader, after: RunHeader) -> Iterator[tuple[str, str, str]]:
    """Versions by kind and name; of a kind with one in each, names and versions."""
    for kind in dict.fromkeys(own.kind for own in (*before.specimens, *after.specimens)):
        old = {own.name: own for own in before.specimens if own.kind == kind}
        new = {own.name: own for own in after.specimens if own.kind == kind}
        word = kind.replace("_", " ").replace("tls", "TLS")
        if len(old) == len(new) == 1 and old.keys() != new.keys():
            (one,), (other,) = old.values(), new.values()
            yield word, _version(one), _version(other)
            continue
        for name in dict.fromkeys((*old, *new)):
            yield f"{word} {name}", _version(old.get(name)), _version(new.get(name))
            if name in old and name in new:
                yield f"what {name} was made from", *_made_from(old[name], new[name])


def _version(own: Specimen | None) -> str:
    return "" if own is None else f"{own.name} {own.version}"


def _made_from(before: Specimen, after: Specimen) -> tuple[str, str]:
    """The packages that differ, of what has any; else the checksum of its file, shortened."""
    if not before.packages and not after.packages:
        return before.sha256[:16], after.sha256[:16]
    names = sorted(before.packages.keys() | after.packages.keys())
    other = [name for name in names if before.packages.get(name) != after.packages.get(name)]
    words = [
        ", ".join(f"{name} {own.packages[name]}" for name in other if name in own.packages)
        for own in (before, after)
    ]
    return words[0], words[1]


def _levels(before: Study, after: Study) -> Iterator[tuple[str, str, str]]:
    """Factors that vary within neither run, and their levels; nothing for a run that leaves one as it is."""
    old, new = before.levels_of(), after.levels_of()
    for factor in dict.fromkeys((*old, *new)):
        if factor in constant(before, after):
            own, other = (str(*levels.get(factor, ("",))) for levels in (old, new))
            yield factor, own, other


def constant(before: Study, after: Study) -> frozenset[str]:
    """The factors of either study that have one level in each, or none."""
    old, new = before.levels_of(), after.levels_of()
    one = [{factor for factor, levels in own.items() if len(levels) == 1} for own in (old, new)]
    return frozenset((one[0] - (new.keys() - one[1])) | (one[1] - (old.keys() - one[0])))
