"""`tlstax run` starts with what a run needs: what other commands are about is imported where it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LAB = Path(__file__).parents[2] / "lab"
OF_OTHERS = (
    *("advice", "bundle", "explore", "inspection", "librarybench", "machines"),
    *("watch.page", "watch.server"),
)


def test_a_run_imports_nothing_of_other_commands() -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(LAB)!r}); import tlstax.cli.app, tlstax.cli.run_command; "
        "print(*sorted(name for name in sys.modules if name.startswith('tlstax.')), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-P", "-c", script], check=True, capture_output=True, text=True)
    loaded = done.stdout.split()
    assert "tlstax.run.pipeline" in loaded
    assert [name for name in loaded if name.removeprefix("tlstax.").startswith(OF_OTHERS)] == []
