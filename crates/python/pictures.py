"""The pictures of the README: a recording of a terminal, and figures of a report.

    pictures.py            compares the pictures with what the commands print and make
    pictures.py --write    writes them
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

import pages

PICTURES = pages.ROOT / "docs" / "pictures"
RECORDING, REPORT = PICTURES / "terminal.svg", PICTURES / "report.svg"

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


#: The figures of the report that the picture has, and how wide they are.
FIGURES = ["job_events_over_time", "cpu"]
FIGURE_WIDTH = WIDTH - 2 * LEFT
#: Headline numbers side by side.
HEADLINES = 6

#: In every recording, a command takes as long.
TIME = re.compile(r"\b\d+\.\d s$")


def printed(command: str, directory: str) -> str:
    """What a command prints."""
    made = subprocess.run(
        command, shell=True, cwd=directory, env=pages.environment(), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, f"{command}: {made.stdout}"
    return made.stdout


def recorded() -> list[tuple[bool, str]]:
    """The lines that a terminal shows: each one, and whether it is a command."""
    lines: list[tuple[bool, str]] = []
    with tempfile.TemporaryDirectory() as directory:
        shutil.copytree(pages.ROOT / "tests" / "sample", Path(directory, "sample"))
        for command in COMMANDS:
            lines.append((True, command.strip()))
            lines += [(False, TIME.sub("0.2 s", line)) for line in printed(command, directory).rstrip().splitlines()]
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


def report() -> str:
    """The report that the commands of the README make."""
    readme = (pages.ROOT / "README.md").read_text()
    commands = re.findall(r"^tracelake (?:convert|report) .*$", readme, re.MULTILINE)
    assert len(commands) == 2, commands
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "tests").symlink_to(pages.ROOT / "tests")
        for command in commands:
            printed(command, directory)
        return Path(directory, "report.html").read_text()


def cut(page: str) -> str:
    """The headline numbers of a report and some of its figures, in the colours of the page."""
    numbers = re.findall(r"<div><dt>(.*?)</dt><dd>(.*?)</dd>", page)
    parts: list[str] = []
    y = 36
    parts.append(text(re.findall(r"<h1>(.*?)</h1>", page)[0], LEFT, y, "title"))
    for at, (name, number) in enumerate(numbers):
        x, row = LEFT + at % HEADLINES * FIGURE_WIDTH // HEADLINES, y + 40 + at // HEADLINES * 52
        parts += [text(number, x, row, "number"), text(name, x, row + 18, "soft")]
    y += 40 + (len(numbers) - 1) // HEADLINES * 52 + 18
    for name in FIGURES:
        section = re.findall(rf'<section id="{name}">.*?</section>', page)[0]
        title = re.findall(r"<h2>(.*?)</h2>", section)[0]
        figure = re.findall(r'<div class="wide">(<svg.*?</svg>)</div>', section)[0]
        y += 44
        parts.append(text(title, LEFT, y, "heading"))
        y += 24
        x = LEFT
        for key, label in re.findall(r'<li><svg class="key"[^>]*>(.*?)</svg>(.*?)</li>', section):
            parts.append(f'<svg x="{x}" y="{y - 10}" width="28" height="10">{key}</svg>')
            parts.append(text(label, x + 34, y, "label"))
            x += 34 + 8 * len(label) + 16
        width, height = (float(side) for side in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', figure)[0])
        tall = round(FIGURE_WIDTH * height / width)
        parts.append(figure.replace("<svg", f'<svg x="{LEFT}" y="{y + 6}" width="{FIGURE_WIDTH}" height="{tall}"', 1))
        y += 6 + tall
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)[0]
    colours = re.findall(r":root\{[^}]*\}", style)
    font = 'font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif'
    style = (
        f"{colours[0]}\n@media (prefers-color-scheme:dark){{{colours[1]}}}\n"
        f"svg{{color:var(--ink)}}text{{{font}!important}}.paper{{fill:var(--paper);stroke:var(--grid)}}"
        ".title{font-size:17px;font-weight:600}.heading{font-size:16px;font-weight:600}.number{font-size:20px;font-weight:600}"
        ".label{font-size:13px}.soft{font-size:13px;fill:var(--soft)}.title,.heading,.number,.label{fill:var(--ink)}"
    )
    title = "The report of a lake: headline numbers, job events over time, CPU usage and requests"
    picture = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 {WIDTH} {y + 12}" '
        f'width="{WIDTH}" role="img" aria-label="{title}">\n<title>{title}</title>\n<style>\n{style}\n</style>\n'
        f'<rect class="paper" x=".5" y=".5" width="{WIDTH - 1}" height="{y + 11}" rx="8"/>\n'
        + "\n".join(parts) + "\n</svg>\n"
    )
    # A tenth of a pixel is enough, and equal on every machine.
    return re.sub(r"<[^>]*>", lambda tag: re.sub(r"\d+\.\d+", lambda one: f"{float(one[0]):.1f}", tag[0]), picture)


def text(content: str, x: int, y: int, kind: str) -> str:
    """A line of text that is HTML already."""
    return f'<text class="{kind}" x="{x}" y="{y}">{content}</text>'


def main() -> int:
    stale: list[str] = []
    for path, made in [(RECORDING, drawn(recorded())), (REPORT, cut(report()))]:
        if "--write" in sys.argv[1:]:
            path.write_text(made)
        elif made != path.read_text():
            stale.append(path.name)
    if stale:
        sys.exit(f"another picture than the page shows, so run cargo xtask docs --write: {', '.join(stale)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
