"""Puts the programs and other files that are looked up at run time into a wheel: a hook of hatchling.

TLSTAX_PROGRAMS names a folder in which `setup/programs` has built the programs; where it is not set, they are
built here, for machines like this one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))

from wheel_contents import folder_files, program_files
from wheel_platform import platform_tag

VARIABLE = "TLSTAX_PROGRAMS"


class WheelHook(BuildHookInterface):
    """Adds files and the tag to every wheel but an editable one, which uses its clone's."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is written."""
        if version == "editable":
            return
        root = Path(self.root)
        programs = program_files(self._programs(root))
        added = [*folder_files(root), *programs]
        build_data["force_include"].update({str(path): inside for path, inside in added})
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(path for path, _ in programs)}"

    def finalize(self, *_: object) -> None:
        """Called once it is written."""
        if hasattr(self, "_built"):
            self._built.cleanup()

    def _programs(self, root: Path) -> Path:
        given = os.environ.get(VARIABLE)
        if given:
            return Path(given).expanduser().absolute()
        self._built = tempfile.TemporaryDirectory(prefix="tlstax-programs-")
        subprocess.run([root / "setup" / "programs", self._built.name], check=True)
        return Path(self._built.name)
