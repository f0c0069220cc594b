"""Compiles the engine with the oldest Rust that it promises: Debian 13’s, run by its own loader."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tlstax.specimens import shelf
from tlstax.specimens.manifest import AptPackages, Recipe
from tlstax.specimens.server_build import loader_of
from tlstax.support.errors import TlstaxError

ENGINE = Path(__file__).parents[2] / "engine"
PROMISED = tomllib.loads((ENGINE / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["rust-version"]

RUST = Recipe(
    name=f"rust-{PROMISED}",
    title=f"Rust {PROMISED} from Debian trixie",
    kind="client",
    source=AptPackages(
        suites=("trixie",),
        packages=(f"rustc={PROMISED}.*", f"cargo={PROMISED}.*"),
        # The programs that the compiler links are linked by the machine's own.
        given=("gcc", "binutils", "libc-dev"),
    ),
    program="usr/bin/rustc",
    bytes_needed=1_500_000_000,
)


def main() -> int:
    """Exit status of cargo; 3 where that Rust is not available."""
    try:
        root = shelf.obtain(RUST, lambda text: print(f"  {text}", flush=True)).tree  # noqa: T201
    except TlstaxError as error:
        sys.stderr.write(f"{error.sentence()}\n")
        return 3
    with tempfile.TemporaryDirectory() as folder:
        for program in ("rustc", "cargo"):
            _write_starter(Path(folder) / program, root, program)
        environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "RUSTC": f"{folder}/rustc"}
        said = subprocess.run(
            ["rustc", "--version"], env=environment, capture_output=True, text=True, check=True
        )
        if not said.stdout.startswith(f"rustc {PROMISED}."):
            sys.stderr.write(f"this is not Rust {PROMISED}: {said.stdout}")
            return 1
        command = ["cargo", "check", "--locked", "--workspace", "--target-dir", "target/oldest-rust"]
        return subprocess.run(command, env=environment, cwd=ENGINE, check=False).returncode


def _write_starter(file: Path, root: Path, program: str) -> None:
    """A program of the root is started by the root's loader, and its libraries come from there."""
    loader, libraries = loader_of(root)
    path = ":".join(map(str, libraries))
    command = [str(loader), "--library-path", path, str(root / "usr" / "bin" / program)]
    file.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
    file.chmod(0o755)


if __name__ == "__main__":
    sys.exit(main())
