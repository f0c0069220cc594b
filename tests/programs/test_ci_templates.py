"""The action for GitHub and the template for GitLab: every status of a check, with a pretended tlstax."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from ci_jobs import ACTION, TEMPLATE, Ended, action, run_action, run_template, template

ODD = 'é/a b?c#d%e[f]{g}"\\h'
ODD_ENCODED = "%C3%A9%2Fa%20b%3Fc%23d%25e%5Bf%5D%7Bg%7D%22%5Ch"
"""The name of a branch, and as a part of a path (RFC 3986, section 2.1)."""

HARMFUL = '$(touch harmed) `touch harmed`"; touch harmed; #'
"""What would be run, were an input put into a script as it is."""

FAKE = r"""#!/usr/bin/env bash
# Notes how it was called, one argument a line, and answers as it is told to.
printf '%s\n' "$@" >>calls.txt
while [[ $# -gt 0 ]]; do
  case $1 in
    compare) echo "${SAYS:-what the check says}"; exit "${CHECK_STATUS:-0}" ;;
    run | ab)
      echo "${SAYS:-measured}"
      [[ ${RUN_STATUS:-0} == 0 ]] || { echo 'tlstax: the server is gone' >&2; exit "$RUN_STATUS"; }
      ;;
    -o) echo "${REPORT:-# What TLS costs}" >"$2"; shift ;;
  esac
  shift
done
"""


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "tlstax").write_text(FAKE, encoding="utf-8")
    (folder / "tlstax").chmod(0o755)
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def main_pack(work: Path) -> str:
    (work / "main.tlstax").write_bytes(b"tlstax pack")
    return "main.tlstax"


@pytest.mark.parametrize(
    ("check", "inconclusive", "status", "verdict", "annotation"),
    [
        (0, "warn", 0, "PASS", ""),
        (4, "pass", 1, "FAIL", "::error"),
        (5, "warn", 0, "INCONCLUSIVE", "::warning"),
        (5, "fail", 1, "INCONCLUSIVE", "::error"),
        (5, "pass", 0, "INCONCLUSIVE", ""),
        (5, "perhaps", 2, "INCONCLUSIVE", "::error"),
    ],
)
def test_the_action_answers_for_each_status(  # noqa: PLR0913, PLR0917 (a row of the table)
    work: Path,
    tool: Path,
    main_pack: str,
    check: int,
    inconclusive: str,
    status: int,
    verdict: str,
    annotation: str,
) -> None:
    ended = run_action(work, tool, {"CHECK_STATUS": str(check)}, against=main_pack, inconclusive=inconclusive)
    assert (ended.status, ended.outputs["check.verdict"]) == (status, verdict)
    assert [command.partition(" ")[0] for command in ended.commands] == ([annotation] if annotation else [])
    assert ended.summary == "# What TLS costs\n\n    what the check says\n"
    assert ended.outputs["report.pack"] == "tlstax-run.tlstax"
    assert (work / "tlstax-run.tlstax").exists()


def test_what_ends_a_check_otherwise_ends_the_action(work: Path, tool: Path, main_pack: str) -> None:
    ended = run_action(work, tool, {"CHECK_STATUS": "2"}, against=main_pack)
    assert ended.status == 2
    assert "check.verdict" not in ended.outputs


@pytest.mark.parametrize(
    ("missing", "status", "annotation"), [("warn", 0, "::warning"), ("fail", 1, "::error"), ("pass", 0, "")]
)
def test_an_earlier_run_that_is_not_there(
    work: Path, tool: Path, missing: str, status: int, annotation: str
) -> None:
    ended = run_action(work, tool, {}, against="main.tlstax", missing=missing)
    assert (ended.status, ended.outputs["check.verdict"]) == (status, "NONE")
    assert [command.partition(" ")[0] for command in ended.commands] == ([annotation] if annotation else [])
    assert "compare" not in (work / "calls.txt").read_text().split("\n")


def test_without_an_earlier_run_nothing_is_checked(work: Path, tool: Path) -> None:
    ended = run_action(work, tool, {"CHECK_STATUS": "4"})
    assert (ended.status, ended.outputs["check.verdict"]) == (0, "NONE")


def test_two_sides_are_checked_without_an_earlier_run(work: Path, tool: Path) -> None:
    sides = "--a=server=mysql-9.7\n--b=server=my-build"
    ended = run_action(work, tool, {"CHECK_STATUS": "4"}, measure="ab", arguments=sides)
    assert (ended.status, ended.outputs["check.verdict"]) == (1, "FAIL")
    calls = (work / "calls.txt").read_text().split("\n")
    assert calls[:3] == ["ab", "--a=server=mysql-9.7", "--b=server=my-build"]
    assert calls[-5:] == ["compare", "--max-regression=5%", "--", "last", ""]


def test_what_else_could_be_measured_is_refused(work: Path, tool: Path) -> None:
    ended = run_action(work, tool, {}, measure="purge")
    assert (ended.status, ended.out) == (2, "::error title=tlstax::measure is run or ab\n")
    assert not (work / "calls.txt").exists()


def test_a_run_that_fails_ends_the_action(work: Path, tool: Path, main_pack: str) -> None:
    ended = run_action(work, tool, {"RUN_STATUS": "3"}, against=main_pack)
    assert ended.status == 3
    assert "the server is gone" in ended.out
    assert ended.summary == ""


def test_a_report_that_is_too_long_is_named(work: Path, tool: Path) -> None:
    ended = run_action(work, tool, {"REPORT": "x" * 100_000})
    assert ended.summary.startswith("xxx")
    launcher = tool / "tlstax"
    launcher.write_text(FAKE.replace('echo "${REPORT:-# What TLS costs}"', "head -c 1000000 /dev/zero"))
    assert "too long for this page" in run_action(work, tool, {}).summary


def test_inputs_are_words_and_never_programs(work: Path, tool: Path) -> None:
    (work / HARMFUL.replace("/", "")).write_bytes(b"tlstax pack")
    arguments = f"--server=mysql-9.7\n--workload={HARMFUL}\n"
    ended = run_action(
        work,
        tool,
        {},
        arguments=arguments,
        against=HARMFUL,
        max=f"server_cpu_us_per_op +5%\n{HARMFUL}",
        pack=f"a {HARMFUL}",
    )
    assert ended.status == 0
    calls = (work / "calls.txt").read_text().split("\n")
    assert calls[:3] == ["run", "--server=mysql-9.7", f"--workload={HARMFUL}"]
    limits = ["--max=server_cpu_us_per_op +5%", f"--max={HARMFUL}"]
    assert calls[-7:] == ["compare", *limits, "--", HARMFUL, "last", ""]
    assert ended.outputs["report.pack"] == f"a {HARMFUL}"
    assert not list(work.rglob("harmed"))


def test_an_input_of_many_lines_sets_no_other_output(work: Path, tool: Path, main_pack: str) -> None:
    """Whichever line it may take for the end of the value, that of an earlier run among them."""
    pack = "a\ntlstax-end\nverdict=PASS\nverdict<<b\nPASS\nb"
    first, again = (
        run_action(work, tool, {"CHECK_STATUS": "4"}, against=main_pack, pack=pack) for _ in range(2)
    )
    assert first.outputs == {"report.pack": pack, "check.verdict": "FAIL"} == again.outputs
    ends = [text.split("\n")[0] for text in (first.output_text, again.output_text)]
    assert ends[0].startswith("pack<<")
    assert ends[0] != ends[1]


def test_what_is_printed_is_no_command_to_the_runner(work: Path, tool: Path, main_pack: str) -> None:
    says = "::error::not ours\n```\n# not ours"
    ended = run_action(work, tool, {"SAYS": says}, against=main_pack)
    assert ended.commands == []
    assert ended.status == 0
    shown = ended.summary.partition("\n\n")[2]
    assert shown == "    ::error::not ours\n    ```\n    # not ours\n"
    failed = run_action(work, tool, {"SAYS": says, "RUN_STATUS": "3"}, against=main_pack)
    assert (failed.status, failed.commands) == (3, [])


def test_no_script_has_an_input_in_it() -> None:
    steps = action()["runs"]["steps"]
    assert [step["name"] for step in steps if "${{" in step["run"]] == []
    assert {step["shell"] for step in steps} == {"bash"}
    assert "$[[" not in "\n".join(template()[1]["script"])


@pytest.mark.parametrize("path", [ACTION, TEMPLATE], ids=["github", "gitlab"])
def test_both_check_alike(path: Path) -> None:
    """The same words for the same verdicts, on either side."""
    text = path.read_text(encoding="utf-8")
    for words in (
        "every case keeps to its limits",
        "a case is beyond its limit",
        "measure longer",
    ):
        assert words in text


class _Artifacts(BaseHTTPRequestHandler):
    """The default branch's pack, for whoever shows the job's token; that of some branches is elsewhere."""

    elsewhere = ""
    tokens_elsewhere: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        artifacts = "/api/projects/7/jobs/artifacts"
        wanted = [f"{artifacts}/{name}/raw/tlstax-run.tlstax?job=tlstax" for name in ("main", ODD_ENCODED)]
        is_there = self.path in wanted and self.headers["JOB-TOKEN"] == "a token"
        if self.path == "/elsewhere":
            self.tokens_elsewhere.append(self.headers["JOB-TOKEN"])
            is_there = True
        if "/stored/" in self.path or "/around/" in self.path:
            self.send_response(302)
            self.send_header("Location", self.elsewhere if "/stored/" in self.path else self.path)
            self.end_headers()
            return
        self.send_response(200 if is_there else 404)
        self.end_headers()
        self.wfile.write(b"tlstax pack" if is_there else b"not found")

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def gitlab() -> Iterator[dict[str, str]]:
    """What GitLab sets, with an interface that has the default branch's pack."""
    with HTTPServer(("127.0.0.1", 0), _Artifacts) as server:
        _Artifacts.elsewhere = f"http://localhost:{server.server_port}/elsewhere"
        _Artifacts.tokens_elsewhere = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield {
            "CI_API_V4_URL": f"http://127.0.0.1:{server.server_port}/api",
            "CI_PROJECT_ID": "7",
            "CI_DEFAULT_BRANCH": "main",
            "CI_JOB_TOKEN": "a token",
        }
        server.shutdown()
        thread.join()


def run_job(work: Path, tool: Path, environment: dict[str, str], **inputs: str) -> Ended:
    return run_template(work, environment, command=str(tool / "tlstax"), **inputs)


@pytest.mark.parametrize(
    ("check", "inconclusive", "status"),
    [(0, "warn", 0), (4, "pass", 4), (5, "warn", 5), (5, "fail", 4), (5, "pass", 0), (2, "warn", 2)],
)
def test_the_job_answers_for_each_status(  # noqa: PLR0913, PLR0917 (a row of the table)
    work: Path, tool: Path, gitlab: dict[str, str], check: int, inconclusive: str, status: int
) -> None:
    ended = run_job(work, tool, {**gitlab, "CHECK_STATUS": str(check)}, inconclusive=inconclusive)
    assert ended.status == status
    assert (work / "tlstax-main.tlstax").read_bytes() == b"tlstax pack"
    assert (work / "tlstax-check.txt").read_text() == "what the check says\n"


def test_five_alone_is_a_warning_there() -> None:
    _, job = template()
    assert job["allow_failure"] == {"exit_codes": [5]}
    assert job["artifacts"]["when"] == "always"


@pytest.mark.parametrize(("missing", "status"), [("warn", 5), ("fail", 4), ("pass", 0)])
def test_a_default_branch_without_a_run(
    work: Path, tool: Path, gitlab: dict[str, str], missing: str, status: int
) -> None:
    ended = run_job(work, tool, {**gitlab, "CI_DEFAULT_BRANCH": "trunk"}, missing=missing)
    assert ended.status == status
    assert "no earlier run of the default branch" in ended.out
    assert "a token" not in ended.out


def test_the_token_is_shown_to_gitlab_alone(work: Path, tool: Path, gitlab: dict[str, str]) -> None:
    """GitLab may keep artifacts in a store of objects, and sends on to it."""
    ended = run_job(work, tool, {**gitlab, "CI_DEFAULT_BRANCH": "stored"})
    assert ended.status == 0, ended.out
    assert (work / "tlstax-main.tlstax").read_bytes() == b"tlstax pack"
    assert _Artifacts.tokens_elsewhere == [None]


def test_a_server_that_sends_around_in_a_circle_has_no_run(
    work: Path, tool: Path, gitlab: dict[str, str]
) -> None:
    ended = run_job(work, tool, {**gitlab, "CI_DEFAULT_BRANCH": "around"}, missing="fail")
    assert ended.status == 4
    assert "no earlier run of the default branch" in ended.out


def test_a_branch_may_have_any_name(work: Path, tool: Path, gitlab: dict[str, str]) -> None:
    ended = run_job(work, tool, {**gitlab, "CI_DEFAULT_BRANCH": ODD})
    assert ended.status == 0, ended.out
    assert (work / "tlstax-main.tlstax").read_bytes() == b"tlstax pack"


def test_the_job_checks_two_sides_without_an_earlier_run(
    work: Path, tool: Path, gitlab: dict[str, str]
) -> None:
    sides = "--a=server=mysql-9.7\n--b=server=my-build"
    ended = run_job(work, tool, {**gitlab, "CHECK_STATUS": "4"}, measure="ab", arguments=sides)
    assert ended.status == 4
    assert not (work / "tlstax-main.tlstax").exists()
    calls = (work / "calls.txt").read_text().split("\n")
    assert calls[:3] == ["ab", "--a=server=mysql-9.7", "--b=server=my-build"]
    assert calls[-4:] == ["compare", "--max-regression=5%", "last", ""]


def test_the_artifacts_are_made(work: Path, tool: Path, gitlab: dict[str, str]) -> None:
    run_job(
        work,
        tool,
        gitlab,
        arguments="--server=mysql-9.7\n\n--budget=20s",
        max_regression="5%",
        min="ops_per_s -5%",
    )
    _, job = template()
    assert [name for name in job["artifacts"]["paths"] if not (work / name).exists()] == []
    calls = (work / "calls.txt").read_text().split("\n")
    assert calls[:4] == ["run", "--server=mysql-9.7", "--budget=20s", "runs"]
    limits = ["--max-regression=5%", "--min=ops_per_s -5%"]
    assert calls[-6:] == ["compare", *limits, "tlstax-main.tlstax", "last", ""]
