"""`tlstax study`: what studies there are, what one would do, and doing it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tlstax.cli import quantities
from tlstax.cli.measuring import bounded, measure
from tlstax.errors import UserMistake
from tlstax.labels import full_label, group_label, label_levels
from tlstax.pipeline import TRIAL_OVERHEAD_S, Request, trial_duration_s
from tlstax.plan import Plan, plan
from tlstax.study import Study, built_in_studies, load_study, override


def list_command() -> int:
    """Every built-in study and its question."""
    for name in built_in_studies():
        sys.stdout.write(f"{name:12}{load_study(name).question}\n")
    return 0


def show_command(name: str) -> int:
    """A study as JSON, with everything that its file leaves to defaults."""
    sys.stdout.write(load_study(name).model_dump_json(indent=2) + "\n")
    return 0


def plan_command(name: str, settings: list[str], budget: str | None, *, as_json: bool) -> int:
    """What running a study would mean, without running it."""
    study = bounded(_set(load_study(name), settings), budget=budget, precision=None, rows=None)
    planned = plan(study, trial_s=trial_duration_s(study) + TRIAL_OVERHEAD_S)
    if as_json:
        sys.stdout.write(json.dumps({"schema": 1, **planned.model_dump()}, indent=2) + "\n")
    else:
        sys.stdout.write(_in_words(planned, study))
    return 0


def run_command(
    name: str,
    settings: list[str],
    *,
    budget: str | None,
    precision: str | None,
    seed: int | None,
    report: Path | None,
    as_json: bool,
) -> int:
    """Run a study on the default server; the exit status."""
    study = bounded(_set(load_study(name), settings), budget=budget, precision=precision, rows=None)
    return measure(Request(study=study, seed=seed), report=report, as_json=as_json)


def _set(study: Study, settings: list[str]) -> Study:
    """The study with each `factor=a,b` of --set in force. Raises UserMistake."""
    for setting in settings:
        factor, equals, levels = setting.partition("=")
        if not equals:
            raise UserMistake(f"--set: {setting!r} names no level", remedy="write it like --set tls=1.2,1.3")
        study = override(study, factor.strip(), quantities.names(levels, f"--set {factor}"))
    return study


def _in_words(planned: Plan, study: Study) -> str:
    lines = [f"{len(planned.cases)} cases, each once in a block, in random order:"]
    lines += [f"  {full_label(case)}" for case in planned.cases]
    for excluded in planned.excluded:
        name = ", ".join(filter(None, (label_levels(excluded.case), group_label(excluded.case))))
        lines.append(f"  left out: {name}: {excluded.why}")
    lines.append(
        f"At most {planned.blocks} blocks, {planned.trials} trials, about {planned.estimated_s:.0f} s "
        f"beside the server's start; fewer if every ratio is known to ±{study.precision:.1%}."
    )
    return "\n".join(lines) + "\n"
