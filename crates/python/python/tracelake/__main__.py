"""The program ``tracelake``: ``python -m tracelake``, and the console script."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Runs the program with the arguments of this process."""
    # The program installs its own handlers; Python's would add a traceback to its message. A signal
    # that is ignored, as under nohup, stays ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tracelake import _tracelake

    return _tracelake.main(["tracelake", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
