"""The commands of the program that need DuckDB: ``check``, ``report`` and ``derive``."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from . import TracelakeError, _checks, _derive, _files, _queries, _report, _show, _tracelake
from ._errors import renamed, writing
from ._steps import ShownSteps, say

#: The data break a promise, as a bad row does.
BROKEN = 4

#: The kinds of errors by their exit codes.
_KINDS = {1: "failed", 2: "usage", 4: "misfit", 5: "corrupt", 6: "refused"}


def run(arguments: Sequence[str]) -> int:
    """Runs a command and returns its exit code. The program reads the arguments, as those of its other commands."""
    asked = _tracelake.query_command(["tracelake", *arguments])
    if isinstance(asked, int):
        return asked
    signals = [signal.SIGINT.value]

    def stop(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    options: dict[str, Any] = json.loads(asked[0])
    steps = ShownSteps(options["command"], options["progress"])
    try:
        try:
            code = _COMMANDS[options["command"]](options, asked[1], steps)
        finally:
            steps.end()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _failed(options, 128 + signals[-1], "stopped")
    except TracelakeError as error:
        return _failed(options, error.exit_code, renamed(error, "overwrite=True", "--overwrite"))
    except OSError as error:
        return _failed(options, 1, error)
    return code


def _failed(options: dict[str, Any], code: int, error: object) -> int:
    """Reports an error, and returns the exit code."""
    if options["progress"] == "json":
        place = {name: getattr(error, name, None) for name in ("path", "line", "column", "field")}
        kind = _KINDS.get(code, "stopped")
        say(json.dumps({"event": "error", "kind": kind, "exit_code": code, **place, "text": str(error)}))
    else:
        say(f"tracelake: error: {error}")
    return code


def _queried(options: dict[str, Any], path: str) -> tuple[_queries.Lake, _queries.Limits]:
    lake = _queries.Lake(path, options["cell"])
    return lake, _queries.Limits(options["memory"], options["threads"], options["time_limit"])


def _check(options: dict[str, Any], paths: Sequence[str], steps: ShownSteps) -> int:
    fail_on = _checks.fail_on(options["fail_on"])
    lake, limits = _queried(options, *paths)
    names = _checks.chosen(lake, options["only"] or None)
    steps.begin(len(names))
    report = _checks.check(
        lake, only=names, allow_missing=options["allow_missing"], limits=limits, watch=None, steps=steps
    )
    steps.end()
    print(report.to_json() if options["json"] else report, flush=True)
    steps.done(trace=report.trace, counts=report.to_dict()["counts"])
    return BROKEN if report.fails(fail_on) else 0


def _report_page(options: dict[str, Any], paths: Sequence[str], steps: ShownSteps) -> int:
    page = _files.on_disk("out", paths[1])
    lake, limits = _queried(options, paths[0])
    with writing(page):
        made = _report.report(lake, page, overwrite=options["overwrite"], limits=limits, steps=steps)
    steps.end()
    if options["json"]:
        print(made.to_json(), flush=True)
    elif steps.is_for_people:
        figures = f"{_show.several(len(made.figures), 'figure')}, {len(made.skipped)} not drawn"
        say(f"{_files.shown(made.path)}: {_show.size(made.bytes)}, {figures}")
    steps.done(path=made.path, bytes=made.bytes, figures=len(made.figures), not_drawn=len(made.skipped))
    return 0


def _derive_tables(options: dict[str, Any], paths: Sequence[str], steps: ShownSteps) -> int:
    directory = _files.on_disk("out", paths[1])
    lake, limits = _queried(options, paths[0])
    other = _queries.OtherLake(paths[2]) if len(paths) > 2 else None
    with writing(directory):
        made = _derive.derive(
            lake, directory, tables=options["tables"] or None, allow_missing=options["allow_missing"], limits=limits,
            other=other, steps=steps,
        )  # fmt: skip
    steps.end()
    if options["json"]:
        print(made.to_json(), flush=True)
    elif steps.is_for_people:
        say(str(made))
    tables = [{"name": one.name, "rows": one.rows, "bytes": one.bytes} for one in made.tables]
    steps.done(path=made.path, tables=tables, skipped=len(made.skipped))
    return 0


_COMMANDS: dict[str, Callable[[dict[str, Any], Sequence[str], ShownSteps], int]] = {
    "check": _check,
    "report": _report_page,
    "derive": _derive_tables,
}
