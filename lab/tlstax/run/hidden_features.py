"""Instructions that are to be hidden from OpenSSL: that they can be, and what each library says of it."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator

from tlstax.specimens.server_build import TlsLibrary, capabilities
from tlstax.study import Study, cpu_features
from tlstax.study.cpu_features import OWN_FEATURES
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.text import enumerated

X86 = ("x86_64", "amd64", "AMD64")


def check_machine(study: Study, architecture: str | None = None) -> None:
    """UserMistake where the study hides what processors of another kind have."""
    architecture = architecture or platform.machine()
    if _levels(study) and architecture not in X86:
        raise UserMistake(
            f"cpu_features hides instructions of x86 processors, and this machine's is {architecture}",
            remedy=f"leave it out, or --set cpu_features={OWN_FEATURES}",
        )


def notes(study: Study, libraries: Iterable[TlsLibrary]) -> Iterator[str]:
    """What each library says that it finds, in words. MachineFault where it finds what is to be hidden."""
    levels = _levels(study)
    own = [(library, capabilities(library, {})) for library in libraries] if levels else []
    for level in levels:
        for library, everything in own:
            name = library.specimen.name
            seen = capabilities(library, cpu_features.environment(level))
            if seen is None:
                yield f"{name} cannot say what it finds with {level}; its environment is all that is known"
                continue
            if left := cpu_features.still_there(level, seen):
                raise MachineFault(
                    f"{name} finds {enumerated(left)} all the same with {level}", remedy="leave it out"
                )
            same = " (as without: this processor has none of it)" if seen == everything else ""
            yield f"{name} with {level} finds {':'.join(f'{word:#x}' for word in seen)}{same}"


def _levels(study: Study) -> tuple[str, ...]:
    """The levels of the study that hide anything."""
    levels = study.levels_of().get("cpu_features", ())
    return tuple(str(level) for level in levels if level != OWN_FEATURES)
