"""The commands of the program that need DuckDB: ``check``, ``report`` and ``derive``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import NoReturn

import tracelake

from . import _checks, _files, _show, _tracelake
from ._errors import TracelakeError

#: The data break a promise, as a bad row does.
BROKEN = 4


def run(arguments: Sequence[str]) -> int:
    """Runs a command and returns its exit code."""
    signals = [signal.SIGINT.value]

    def stop(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        asked = _parser().parse_args(arguments)
        code: int = asked.run(asked)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("tracelake: error: stopped", file=sys.stderr)
        return 128 + signals[-1]
    except TracelakeError as error:
        print(f"tracelake: error: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"tracelake: error: {error}", file=sys.stderr)
        return 1
    return code


class _Parser(argparse.ArgumentParser):
    """A parser that repeats no secret of an argument that is wrong."""

    def error(self, message: str) -> NoReturn:
        super().error(_tracelake.redacted(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="tracelake")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    check = _command(
        commands,
        "check",
        _check,
        "compare the rows of a lake with what its documents promise",
        epilog="Exit codes: 0 nothing to fail on, 4 something to fail on, 1, 2 and 6 as in tracelake --help.",
    )
    check.add_argument("--only", metavar="NAMES", help="make only these checks, for example task_life_cycle")
    check.add_argument(
        "--fail-on",
        metavar="KINDS",
        default="new",
        help="exit with 4 on new findings, known findings or skipped checks: new, known, skipped, several "
        "of them separated by commas, or none [default: new]",
    )
    _allow_missing(check, "make checks even if parts that they need are missing; the gaps may cause findings")
    check.add_argument("--json", action="store_true", help="print JSON")

    report = _command(
        commands, "report", _report, "draw what is in a lake as one HTML page, which needs no network"
    )
    report.add_argument(
        "-o", "--out", metavar="FILE", default="report.html", help="the page [default: report.html]"
    )

    derive = _command(
        commands, "derive", _derive, "make tables that everyone computes again, such as the lifetimes of tasks"
    )
    derive.add_argument("out", metavar="OUT", help="a new or empty directory")
    derive.add_argument("--tables", metavar="NAMES", help="make only these tables [default: all]")
    _allow_missing(derive, "make tables even if parts that they need are missing")
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    purpose: str,
    epilog: str | None = None,
) -> argparse.ArgumentParser:
    """A command on a lake, with the limits that all of them have."""
    description = f"{purpose[0].upper()}{purpose[1:]}."
    command = commands.add_parser(name, help=purpose, description=description, epilog=epilog)
    command.set_defaults(run=run)
    command.add_argument("lake", metavar="LAKE", help="a finished lake of Parquet files")
    command.add_argument("--cell", metavar="NAME", help="the cell to query, in a lake of several cells")
    command.add_argument(
        "--threads", metavar="N", type=int, help="number of threads [default: one per processor]"
    )
    command.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=float,
        help="time limit of a query [default: none; one hour if the trace isn't built in]",
    )
    command.add_argument(
        "--memory", metavar="SIZE", help="memory limit of DuckDB, for example 2GiB [default: 1200MB]"
    )
    return command


def _allow_missing(command: argparse.ArgumentParser, meaning: str) -> None:
    command.add_argument("--allow-missing", action="store_true", help=meaning)


def _check(asked: argparse.Namespace) -> int:
    fail_on = _checks.fail_on(asked.fail_on)
    show = _show_result if sys.stderr.isatty() else None
    report = tracelake.check(
        asked.lake,
        cell=asked.cell,
        only=asked.only,
        allow_missing=asked.allow_missing,
        memory=asked.memory,
        time_limit=asked.time_limit,
        threads=asked.threads,
        watch=show,
    )
    if show is not None:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    print(report.to_json() if asked.json else report)
    return BROKEN if report.fails(fail_on) else 0


def _report(asked: argparse.Namespace) -> int:
    made = tracelake.report(
        asked.lake,
        asked.out,
        cell=asked.cell,
        memory=asked.memory,
        time_limit=asked.time_limit,
        threads=asked.threads,
    )
    size = _show.size(made.bytes)
    print(f"{_files.shown(made.path)}: {size}, {_show.several(len(made.figures), 'figure')}, {len(made.skipped)} not drawn", file=sys.stderr)
    return 0


def _derive(asked: argparse.Namespace) -> int:
    made = tracelake.derive(
        asked.lake,
        asked.out,
        cell=asked.cell,
        tables=asked.tables,
        allow_missing=asked.allow_missing,
        memory=asked.memory,
        time_limit=asked.time_limit,
        threads=asked.threads,
    )
    print(made, file=sys.stderr)
    return 0


def _show_result(result: tracelake.CheckResult) -> None:
    print(f"\r\x1b[K{result.name}: {result.status}", end="", file=sys.stderr, flush=True)
