"""The pictures of the README: a recording of a terminal, and the report of published rows.

    pictures.py            compares the recording with what its commands print, numbers apart
    pictures.py --update   writes it, and the picture of the report if Chromium and published rows are there
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
RECORDING, REPORT = PICTURES / "terminal.svg", PICTURES / "report.png"

#: Real rows next to the project: job events and machine events of the Google trace of 2011.
ROWS = ROOT.parent / "shared" / "data" / "google-2011"

COMMANDS = [
    "tracelake convert sample lake",
    "tracelake verify lake --source sample",
    """duckdb -c "SELECT event_type, count(*) FROM 'lake/job_events/*/*.parquet' GROUP BY ALL ORDER BY ALL LIMIT 3" """,
]

#: Seconds between two lines, and before a command.
LINE, COMMAND = 0.06, 1.2
WIDTH, LINE_HEIGHT, LEFT, TOP = 820, 20, 20, 52

STYLE = """\
.paper{fill:#fff;stroke:#d0d7de}.bar{fill:#f6f8fa}text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;\
fill:#24292f;white-space:pre}.command{font-weight:600}.prompt{fill:#1a7f37}
@media (prefers-color-scheme:dark){.paper{fill:#0d1117;stroke:#30363d}.bar{fill:#161b22}text{fill:#e6edf3}.prompt{fill:#56d364}}
@media (prefers-reduced-motion:no-preference){g{animation:shown 1ms both}@keyframes shown{from{opacity:0}to{opacity:1}}}"""


def recorded() -> list[tuple[bool, str]]:
    """The lines that a terminal shows: each one, and whether it is a command."""
    lines: list[tuple[bool, str]] = []
    with tempfile.TemporaryDirectory() as directory:
        shutil.copytree(ROOT / "tests" / "sample", Path(directory, "sample"))
        stand_ins = ROOT / "crates" / "python" / "tests" / "pages"
        path = os.pathsep.join([str(stand_ins), str(Path(sys.executable).parent), os.environ["PATH"]])
        environment = {**os.environ, "PATH": path, "PYTHON": sys.executable}
        for command in COMMANDS:
            lines.append((True, command.strip()))
            made = subprocess.run(
                command, shell=True, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, check=True,
            )  # fmt: skip
            lines += [(False, line) for line in made.stdout.rstrip().splitlines()]
    return lines


def drawn(lines: list[tuple[bool, str]]) -> str:
    """The recording as a picture that plays once; without motion, it shows the last moment."""
    height = TOP + len(lines) * LINE_HEIGHT + 4
    parts: list[str] = []
    at = 0.0
    for number, (is_command, line) in enumerate(lines):
        at += COMMAND if is_command and number else LINE
        text = escape(line, quote=False)
        if is_command:
            text = f'<tspan class="prompt">$</tspan> <tspan class="command">{text}</tspan>'
        y = TOP + number * LINE_HEIGHT
        parts.append(f'<g style="animation-delay:{at:.2f}s"><text x="{LEFT}" y="{y}">{text}</text></g>')
    title = "tracelake converts and verifies a sample, and DuckDB reads the lake"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img" '
        f'aria-label="{title}">\n<title>{title}</title>\n<style>\n{STYLE}\n</style>\n'
        f'<rect class="paper" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>\n'
        f'<path class="bar" d="M1 30V9a8 8 0 0 1 8-8h{WIDTH - 18}a8 8 0 0 1 8 8v21z"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def without_numbers(picture: str) -> str:
    """A recording without what differs from machine to machine: times, and the room that they take."""
    return re.sub(r"\s+", " ", re.sub(r"\d[\d.,]*", "0", picture))


def picture_of_the_report(chromium: str) -> None:
    """The top of the report of published rows."""
    import tracelake

    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        tracelake.convert(ROWS, "lake", allow_missing=True)
        tracelake.report("lake", "report.html")
        page = Path("report.html").resolve()
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,1280"]
        options += ["--blink-settings=preferredColorScheme=1", f"--user-data-dir={directory}/profile"]
        subprocess.run(
            [chromium, *options, f"--screenshot={REPORT}", page.as_uri()], capture_output=True, timeout=120, check=True
        )
        os.chdir(ROOT)
    from PIL import Image

    with Image.open(REPORT) as picture:
        small = picture.convert("RGB").quantize(64)
        small.save(REPORT, optimize=True)


def main() -> int:
    found = drawn(recorded())
    if "--update" in sys.argv[1:]:
        PICTURES.mkdir(exist_ok=True)
        RECORDING.write_text(found)
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        if chromium and ROWS.is_dir():
            picture_of_the_report(chromium)
        else:
            print("the report isn't drawn: it needs Chromium, and published rows next to the project")
        return 0
    if without_numbers(found) != without_numbers(RECORDING.read_text()):
        sys.exit(f"the commands print another text; run {Path(__file__).name} --update:\n{found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
