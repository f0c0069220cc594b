"""A server program on disk and how its programs are executed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tlstax.records import Specimen

Flavour = Literal["mysql", "mariadb"]


@dataclass(frozen=True)
class ServerBuild:
    """A server that can be started.

    `root` is the tree that it was unpacked to, with its own C library and loader; `basedir` is the tree of
    a server that runs wherever it lies, on the machine's C library. With neither, it is a server of this
    machine. `own_libraries` are directories of libraries that came with the server.
    """

    specimen: Specimen
    flavour: Flavour
    executable: Path
    root: Path | None = None
    basedir: Path | None = None
    own_libraries: tuple[Path, ...] = ()

    def command(
        self,
        arguments: Sequence[str] = (),
        *,
        program: Path | None = None,
        library_directories: Sequence[Path] = (),
    ) -> list[str]:
        """The command line that runs the server, or another program of its root, with these arguments.

        A program of a root is run by the root's own loader with the root's own libraries (ld.so(8),
        --library-path); `library_directories` are searched before those.
        """
        executable = str(program or self.executable)
        if self.root is None:
            return [executable, *arguments]
        loader, own_directories = loader_of(self.root)
        path = ":".join(map(str, (*library_directories, *own_directories, *self.own_libraries)))
        return [str(loader), "--library-path", path, executable, *arguments]

    def environment(self, library_directories: Sequence[Path] = ()) -> dict[str, str]:
        """Environment variables that `command` needs: the library directories, where no loader is named."""
        directories = (*library_directories, *self.own_libraries)
        if self.root is not None or not directories:
            return {}
        return {"LD_LIBRARY_PATH": ":".join(map(str, directories))}

    def shared_files(self) -> tuple[Path, ...]:
        """Directories that hold the server's messages and SQL files, the likeliest first."""
        prefixes = (self.root / "usr",) if self.root else (self.executable.parent.parent, Path("/usr"))
        return tuple(prefix / "share" / name for prefix in prefixes for name in ("mysql", "mariadb"))


def loader_of(root: Path) -> tuple[Path, tuple[Path, ...]]:
    """The dynamic loader of a Debian root and the directory of its libraries.

    FileNotFoundError when the root has none. The names follow Debian's multiarch layout,
    usr/lib/TRIPLET/ld-linux-*.so.*.
    """
    for base in (root / "usr" / "lib", root / "lib"):
        for loader in sorted(base.glob("*-linux-gnu*/ld-linux*.so.*")):
            directories = (place / loader.parent.name for place in (root / "usr" / "lib", root / "lib"))
            return loader, tuple(directory for directory in directories if directory.is_dir())
    raise FileNotFoundError(f"{root} has no dynamic loader")
