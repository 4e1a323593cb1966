"""Has every engine read our files and those of other writers, and compares the CPU times and the sizes."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from markdown import table

HERE = Path(__file__).parent
OURS = "tracelake"
WRITERS = ["DuckDB", "Polars", "pyarrow"]
# Our files once more: a ratio to them other than 1 is noise.
COPY = "copy"
ENGINES = ["DuckDB", "Polars", "pyarrow", "chDB"]

# How many times the CPU time of the fastest other files a query may take on ours.
TIMES = 1.1

# How large our files may be: times the smallest others, or else bytes a file more than them.
SIZES = {"task_usage": (0.97, 0), "task_events": (1.02, 4096), "job_events": (1.02, 4096)}

# How many files of a table are read at most: more of the same take longer and say no more.
FILES = 100

EXPLAINED = (
    "DuckDB, Polars and pyarrow write the rows of each of our files to one file, with zstd and their defaults otherwise. "
    "Each engine then reads the files of each writer on all threads, in turn, and must find the same rows in all. "
    "A query is repeated until it has taken 50 ms of CPU time, which is one measurement, and each round has four. A "
    "figure is the least CPU time on our files, divided by the least on the files of the fastest other writer; in "
    "parentheses is the time on our files. The fastest writer may be another one for each query: none is the fastest "
    "for all."
)


class Table:
    """The files of a table by their writers, each with the rows of ours of the same number."""

    def __init__(self, label, name, folder):
        self.label, self.name, self.folder = label, name, folder
        ours = sorted(str(path) for path in (folder / "lake" / name).glob("*.parquet"))[:FILES]
        folders = {writer: str(folder / writer) for writer in WRITERS}
        for made in [*folders.values(), folder / COPY, folder / "expected"]:
            Path(made).mkdir()
        for path in ours:
            shutil.copy(path, folder / COPY)
        self.files = {OURS: ours}
        for writer in [*WRITERS, COPY]:
            self.files[writer] = [str(folder / writer / Path(path).name) for path in ours]
        self.picked = ask("rewrite.py", [], {"table": name, "files": ours, "folders": folders})
        self.least = {}

    def measure(self, engine, tables):
        """Keeps the least CPU time of each query and writer; `tables` are all of the lake."""
        sets = {writer: {table.name: table.files[writer] for table in tables} for writer in self.files}
        task = {"table": self.name, "sets": sets, "picked": self.picked}
        task["expected"] = str(self.folder / "expected")
        for what, taken in ask("queries.py", [engine], task).items():
            least = self.least.setdefault(what, {}).setdefault(engine, taken)
            self.least[what][engine] = {writer: min(least[writer], taken[writer]) for writer in taken}

    def ratios(self):
        """The least time on our files divided by the least on the fastest others, for each query and engine."""
        each = [taken for engines in self.least.values() for taken in engines.values()]
        return [taken[OURS] / min(taken[writer] for writer in WRITERS) for taken in each]

    def times(self, limit):
        """A line for each query, and those that take more than `limit` times as long on our files."""
        lines, over = [], []
        for what, engines in self.least.items():
            line = [what]
            for engine, taken in engines.items():
                fastest = min(WRITERS, key=taken.get)
                ratio = taken[OURS] / taken[fastest]
                shown = f"{ratio:.2f}"
                if ratio > limit:
                    over.append(f"{self.label}, {what}, {engine}: {shown} of {fastest}'s files")
                    shown = f"**{shown}**"
                line.append(f"{shown} ({taken[OURS] * 1000:.1f} ms)")
            lines.append(line)
        return lines, over

    def noise(self):
        """The larger of the times on our files and on their copies, divided by the smaller, for each query and engine."""
        both = [sorted([taken[OURS], taken[COPY]]) for engines in self.least.values() for taken in engines.values()]
        return [more / less for less, more in both]

    def sizes(self):
        """The line of the sizes, and whether ours are too large."""
        sizes = {writer: sum(Path(path).stat().st_size for path in self.files[writer]) for writer in [OURS, *WRITERS]}
        smallest = min(WRITERS, key=sizes.get)
        count, ratio = len(self.files[OURS]), sizes[OURS] / sizes[smallest]
        more = (sizes[OURS] - sizes[smallest]) / count
        times, bytes_more = SIZES[self.name]
        line = [self.label, count, *(f"{size:,}" for size in sizes.values()), f"{ratio:.3f}", f"{more:,.0f}"]
        over = ratio > times and more > bytes_more
        return line, [f"{self.label}: {ratio:.3f} of the size of {smallest}'s files"] if over else []


def ask(script, arguments, task):
    """The answer of a process to a task."""
    command = [sys.executable, str(HERE / script), *arguments]
    ended = subprocess.run(command, input=json.dumps(task), stdout=subprocess.PIPE, text=True)
    if ended.returncode != 0:
        sys.exit(f"{script} {' '.join(arguments)} failed; the reason is above")
    return json.loads(ended.stdout)


def compared(lakes, rounds):
    """The section of the page, and the queries that take too long on our files."""
    tables = [one for lake in lakes for one in lake]
    measure(lakes, rounds)
    noises = sorted(ratio for one in tables for ratio in one.noise())
    # Nine of ten are below it.
    noise = noises[len(noises) * 9 // 10]
    parts, slow, sizes, large = [], [], [], []
    for one in tables:
        lines, over = one.times(TIMES * noise)
        parts.append(f"### Reading {one.label}\n\n{table(['query', *ENGINES], lines)}")
        slow += over
        line, over = one.sizes()
        sizes.append(line)
        large += over
    unclear = sum(TIMES < ratio <= TIMES * noise for one in tables for ratio in one.ratios())
    header = ["table", "files", *(f"{writer}, bytes" for writer in [OURS, *WRITERS]), "ours ÷ smallest", "bytes more a file"]
    sections = [
        f"## Reading\n\n{EXPLAINED}\n",
        f"Our files and copies of them give the noise: in nine of ten cases their times differ by a factor of less than "
        f"{noise:.2f}. So a query counts as slower than {TIMES} times the fastest others if its figure is above "
        f"{TIMES * noise:.2f}: {len(slow)} of {len(noises)} are. Of {unclear} figures, between the two, the noise says neither.\n",
        "".join(f"- {line}\n" for line in slow),
        *parts,
        f"### Sizes of the files\n\n{table(header, sizes)}",
        f"Over the limits: {', '.join(large) or 'none'}.\n",
    ]
    return "\n".join(sections), slow


def measure(lakes, rounds):
    """Asks every engine about every table, round by round, so that other load disturbs all alike."""
    for _ in range(rounds):
        for tables in lakes:
            for table in tables:
                for engine in ENGINES:
                    print(f"{engine} reads {table.label}", file=sys.stderr)
                    table.measure(engine, tables)
