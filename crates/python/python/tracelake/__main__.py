"""The program ``tracelake``: ``python -m tracelake``, and the console script."""

from __future__ import annotations

import os
import signal
import sys


def main() -> int:
    """Runs the program with the arguments of this process."""
    from tracelake import _tracelake

    _tracelake.open_descriptors()
    # Python has none where its descriptor was closed.
    sys.stdout = sys.stdout or open(os.devnull, "w")
    sys.stderr = sys.stderr or open(os.devnull, "w")
    arguments = sys.argv[1:]
    if arguments and arguments[0] in ("check", "report", "derive"):
        from tracelake import _commands

        return _commands.run(arguments)
    # The program installs its own handlers; Python's would add a traceback to its message. A signal
    # that is ignored, as under nohup, stays ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _tracelake.main(["tracelake", *arguments])


if __name__ == "__main__":
    sys.exit(main())
