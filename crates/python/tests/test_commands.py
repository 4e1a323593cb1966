"""`check`, `report` and `derive` as commands: arguments, progress, JSON, and files that exist."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tracelake

for extra in ("duckdb", "matplotlib"):
    pytest.importorskip(extra)

from tracelake import _steps

PROGRAM = Path(sys.executable).with_name("tracelake")
PAGE = Path(__file__).parents[3] / "docs" / "exit-codes.md"
#: Each command with its arguments after the lake.
COMMANDS = {"check": [], "report": ["-o", "page.html"], "derive": ["derived"]}


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def small(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of two tables, whose queries take no time."""
    path = tmp_path_factory.mktemp("small") / "lake"
    tracelake.convert(source, path, tables=["machine_events", "task_usage"])
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_the_program_reads_the_arguments(command: str, small: Path) -> None:
    helped = run(command, "--help")
    assert (helped.returncode, helped.stderr) == (0, "")
    assert helped.stdout == run("help", command).stdout and "--progress <HOW>" in helped.stdout
    wrong = run(command, small, *COMMANDS[command], "--threds", "2")
    assert wrong.returncode == 2 and "a similar argument exists: '--threads'" in wrong.stderr
    assert run(command).returncode == 2
    for option, value in (("--threads", "0"), ("--memory", "5MB"), ("--time-limit", "nan"), ("--progress", "much")):
        refused = run(command, small, *COMMANDS[command], option, value)
        assert (refused.returncode, refused.stdout) == (2, "") and option in refused.stderr
    for wrong_name in (("--cell", "a"), ("--cell", "s3://bucket")):
        assert run(command, small, *COMMANDS[command], *wrong_name).returncode == 2
    assert list(Path().iterdir()) == []
    made = run(command, small, *COMMANDS[command], "--threads", "1", "--memory", "500M", "--time-limit", "60.5")
    assert made.returncode == 0, made.stderr


@pytest.mark.skipif(os.name == "nt", reason="bytes in names")
def test_a_path_is_any_bytes(small: Path) -> None:
    out = os.fsdecode(b"p\xe4ge.html")
    made = subprocess.run([PROGRAM, "report", small, "-o", out], capture_output=True)
    assert made.returncode == 0 and Path(out).is_file(), made.stderr


def test_a_page_that_exists_is_replaced_only_if_asked(small: Path) -> None:
    page = Path("page.html")
    for text in ("mine", ""):
        page.write_text(text)
        refused = run("report", small, "-o", "page.html")
        assert (refused.returncode, refused.stdout, page.read_text()) == (6, "", text)
        assert refused.stderr == (
            "tracelake: error: page.html: exists; pass --overwrite to replace it, or name another file\n"
        )
        with pytest.raises(tracelake.RefusedError, match="page.html: exists; pass overwrite=True to"):
            tracelake.report(small, "page.html")
    page.unlink()
    page.symlink_to("nowhere")
    assert run("report", small, "-o", "page.html").returncode == 6
    assert run("report", small, "-o", "page.html", "--overwrite").returncode == 0
    assert not page.is_symlink()
    first = page.read_bytes()
    assert first.startswith(b"<!DOCTYPE html>")
    tracelake.report(small, "page.html", overwrite=True)
    assert page.read_bytes() == first
    wrong: Any = 1
    with pytest.raises(tracelake.WrongTypeError, match="overwrite"):
        tracelake.report(small, "page.html", overwrite=wrong)


def test_a_page_that_appears_in_the_meantime_is_not_replaced(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracelake import _report

    write = _report._write

    def late(out: str, text: str, overwrite: bool) -> None:
        Path(out).write_text("mine")
        write(out, text, overwrite)

    monkeypatch.setattr(_report, "_write", late)
    with pytest.raises(tracelake.RefusedError):
        tracelake.report(small, "page.html")
    assert [(path.name, path.read_text()) for path in Path().iterdir()] == [("page.html", "mine")]


def test_what_was_written_is_one_json_object(small: Path) -> None:
    made = run("report", small, "-o", "page.html", "--json")
    assert (made.returncode, made.stderr) == (0, "")
    said = json.loads(made.stdout)
    assert said["path"] == str(Path("page.html").resolve()) and said["bytes"] == Path("page.html").stat().st_size
    report = tracelake.report(small, "again.html")
    assert said["figures"] == list(report.figures) and said["skipped"] == dict(report.skipped)
    assert said["checks"] == json.loads(report.checks.to_json()) == json.loads(run("check", small, "--json").stdout)
    made = run("derive", small, "derived", "--json")
    assert (made.returncode, made.stderr) == (0, "")
    said = json.loads(made.stdout)
    facts = json.loads((Path("derived") / "_tracelake" / "derived.json").read_text())
    assert said["path"] == str(Path("derived").resolve()) and list(said["skipped"]) == ["task_lifetimes"]
    (table,), (noted,) = said["tables"], facts["tables"]
    assert table == {name: noted[name] for name in table} and table["bytes"] > 0
    assert said["source_sha256"] == facts["source_sha256"]


@pytest.mark.parametrize("command", COMMANDS)
def test_progress_as_lines_and_not_at_all(command: str, small: Path) -> None:
    plain = run(command, small, *COMMANDS[command], "--progress", "plain").stderr
    steps = {
        "check": "machine_events_sorted: passed",
        "report": "machine_capacities: drawn",
        "derive": "machine_usage_5min: ",
    }
    assert steps[command] in plain
    for path in Path().glob("*"):
        path.rename(f"{path}.old")
    none = run(command, small, *COMMANDS[command], "--progress", "none")
    assert (none.returncode, none.stderr) == (0, "")
    assert bool(none.stdout) == (command == "check")
    for path in (path for path in Path().glob("*") if path.suffix != ".old"):
        path.rename(f"{path}.older")
    # Without a terminal, there is no bar.
    auto = run(command, small, *COMMANDS[command])
    assert "\r" not in auto.stderr and bool(auto.stderr) == (command != "check")


@pytest.mark.parametrize("command", COMMANDS)
def test_progress_as_json_lines(command: str, small: Path) -> None:
    made = run(command, small, *COMMANDS[command], "--progress", "json")
    start, *steps, done = lines(made.stderr)
    assert start == {"event": "start", "command": command, "steps": len(steps)}
    assert [step["steps_done"] for step in steps] == list(range(1, len(steps) + 1))
    assert all(step["event"] == "step" and step["steps"] == len(steps) and step["outcome"] for step in steps)
    assert (done["event"], done["command"]) == ("done", command)
    if command == "check":
        # The keys are those of the page.
        samples = re.findall(r'^\{"event":"(?:start|step|done)".*"(?:steps|counts)".*\}$', PAGE.read_text(), re.M)
        assert [list(json.loads(sample)) for sample in samples] == [list(line) for line in (start, steps[0], done)]
    wrong = run(command, small / "nosuch", *COMMANDS[command], "--progress", "json")
    (error,) = lines(wrong.stderr)
    assert (error["event"], error["kind"], error["exit_code"], wrong.returncode) == ("error", "refused", 6, 6)
    assert error["path"] == str(small / "nosuch") and set(error) >= {"line", "column", "field", "text"}
    (error,) = lines(run(command, small, *COMMANDS[command], "--progress=json", "--nosuch").stderr)
    assert (error["kind"], error["exit_code"]) == ("usage", 2)


@pytest.mark.skipif(os.name == "nt", reason="terminals")
@pytest.mark.parametrize("slow", [False, True])
def test_a_terminal_has_a_bar_if_it_takes_longer_than_a_second(slow: bool, small: Path) -> None:
    import pty

    code = f"""
import sys, time
from tracelake import _commands, _queries
rows = _queries.Engine.rows
def later(self, *others, **more):
    time.sleep({1.5 if slow else 0})
    return rows(self, *others, **more)
_queries.Engine.rows = later
sys.exit(_commands.run(["check", {str(small)!r}, "--only", "machine_events_sorted"]))
"""
    ours, theirs = pty.openpty()
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            some = os.read(ours, 4096)
        except OSError:
            break
        if not some:
            break
        shown += some
    os.close(ours)
    assert program.stdout is not None and b"1 passed" in program.stdout.read()
    assert program.wait(60) == 0
    program.stdout.close()
    assert (b"0 of 1  " in shown and b"machine_events_sorted" in shown) == slow
    # The line is cleared at the end.
    assert not slow or shown.endswith(b"\r\x1b[K")


def test_the_bar_fits_the_terminal() -> None:
    steps = _steps.ShownSteps("check", "none")
    steps.begin(4)
    for number in range(4):
        steps.start("a" * 200)
        assert len(steps.text(60)) == 59 and f" {number} of 4  " in steps.text(60)
        steps.finish("a", "passed")
    assert steps.text(60).startswith("=" * 30 + " 4 of 4")
