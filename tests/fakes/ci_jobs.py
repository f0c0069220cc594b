"""The templates for GitHub and GitLab, run as their runners do: with bash, and inputs in the environment."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "action.yml"
TEMPLATE = ROOT / "integrations" / "gitlab" / "tlstax.yml"

_GITHUB = re.compile(r"\$\{\{\s*(?P<what>[\w.-]+)\s*\}\}")
_GITLAB = re.compile(r"\$\[\[\s*inputs\.(?P<name>\w+)\s*\]\]")


@dataclass(frozen=True)
class Ended:
    """How a job ended, what it printed, what it left for the page and for later steps."""

    status: int
    out: str
    summary: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)
    output_text: str = ""

    @property
    def commands(self) -> list[str]:
        """What the runner would take for its commands: lines of `::name`, but for those between its stops.

        GitHub, Workflow commands for GitHub Actions, Stopping and starting workflow commands.
        """
        found, stopped = [], ""
        for line in self.out.splitlines():
            if stopped:
                stopped = "" if line == f"::{stopped}::" else stopped
            elif line.startswith("::stop-commands::"):
                stopped = line.removeprefix("::stop-commands::")
            elif line.startswith("::"):
                found.append(line)
        assert not stopped, "the runner hears no command from here on"
        return found


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    return found


def template() -> tuple[dict[str, Any], dict[str, Any]]:
    """The inputs, and the job before they stand in it."""
    inputs, job = yaml.safe_load_all(TEMPLATE.read_text(encoding="utf-8"))
    return inputs["spec"]["inputs"], job["tlstax"]


def run_action(work: Path, tool: Path, environment: Mapping[str, str], **inputs: str) -> Ended:
    """The composite action's steps, up to the first that fails; `tool` is the launcher's folder."""
    found = action()
    assert inputs.keys() <= found["inputs"].keys()
    known = {name: own.get("default", "") for name, own in found["inputs"].items()} | inputs
    temp, summary = work / "temp", work / "summary.md"
    temp.mkdir(exist_ok=True)
    summary.touch()
    said, status, outputs, texts = [], 0, {}, []
    for number, step in enumerate(found["runs"]["steps"]):
        output = work / f"output-{number}"
        output.write_text("")
        own = {name: _evaluated(value, known, temp) for name, value in step.get("env", {}).items()}
        files = {"GITHUB_OUTPUT": output, "GITHUB_STEP_SUMMARY": summary, "RUNNER_TEMP": temp}
        runner = {name: str(path) for name, path in files.items()} | {"GITHUB_ACTION_PATH": str(tool)}
        done = _bash(step["run"], work, {**environment, **runner, **own})
        said.append(done.stdout)
        texts.append(output.read_text())
        outputs |= {f"{step.get('id', number)}.{name}": value for name, value in _outputs(texts[-1])}
        status = done.returncode
        if status:
            break
    return Ended(status, "".join(said), summary.read_text(encoding="utf-8"), outputs, "".join(texts))


def run_template(work: Path, environment: Mapping[str, str], **inputs: str) -> Ended:
    """The GitLab job's script, whose parts share nothing but files, up to the first that fails."""
    specified, job = template()
    assert inputs.keys() <= specified.keys()
    known = {name: own["default"] for name, own in specified.items()} | inputs
    predefined = {**environment, "CI_PROJECT_DIR": str(work)}
    own = {
        name: _GITLAB.sub(lambda found: known[found["name"]], value).replace("$CI_PROJECT_DIR", str(work))
        for name, value in job["variables"].items()
    }
    done = _bash("\n".join(job["script"]), work, {**predefined, **own})
    return Ended(done.returncode, done.stdout)


def _evaluated(value: str, inputs: Mapping[str, str], temp: Path) -> str:
    def of(found: re.Match[str]) -> str:
        match found["what"].split("."):
            case ["inputs", name]:
                return inputs[name]
            case ["runner", "temp"]:
                return str(temp)
        raise AssertionError(f"not known here: {found[0]}")

    return _GITHUB.sub(of, value)


def _bash(script: str, work: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """As both runners start it, with what is on standard error among the rest."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=work,
        env={"PATH": os.environ["PATH"], "HOME": str(work), **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def _outputs(text: str) -> list[tuple[str, str]]:
    """The lines `name=value`, and values between markers: GitHub, Workflow commands for GitHub Actions."""
    found, lines = [], iter(text.splitlines())
    for line in lines:
        if marked := re.fullmatch(r"(\w+)<<(\S+)", line):
            found.append((marked[1], "\n".join(takewhile(marked[2].__ne__, lines))))
        else:
            name, _, value = line.partition("=")
            found.append((name, value))
    return found
