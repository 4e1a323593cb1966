"""Runs tracelake and its peers in turn, round by round, and prints the results as Markdown.

In (one JSON object on stdin): {"page": "peers", "growth", "reading", "formats" or "clustered", "program": path,
"inflate": path, for "peers", "source": directory, "large": one part of the largest table, "scratch": directory, "rounds": n, "threads": n, "trace": name,
"rows": n, "tables": [[name, [[column, type]]]], "real": [[table, [files]]], "first_rows": path or null, "chart": path, "made": text}

The page "peers" compares; it fails, and prints nothing, if the rounds of a comparison in its summary
differ by more than a tenth. The page "growth" has what tracelake alone costs as its input grows, and
"reading" only the part of "peers" that reads the files. "formats" compares on every form of input, and draws the
README's chart. "clustered" has what a lake clustered by job costs and saves.
"""

import gzip
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import chart
import clustered
import distinct
import json_peers
import parquet_peers
import peers
import reading
from markdown import table

HERE = Path(__file__).parent
OURS = "tracelake"

# How many parts the real files of a table are repeated to, under new numbers of as many as published.
REAL_PARTS = {"task_events": 17, "job_events": 500}
PUBLISHED_PARTS = 500

# By how much of their median the ratios of the rounds may differ.
STEADY = 0.1

# How often each system runs in a round; the median counts.
RUNS = 3


def measured(command, code=0, env=None):
    """Wall and CPU seconds and the peak memory in MB of one process, or None if it ended otherwise."""
    with open(os.devnull, "wb") as nowhere:
        begun = time.perf_counter()
        child = subprocess.Popen(command, stdout=nowhere, stderr=subprocess.PIPE, env=env)
        said = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - begun
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != code:
        print(f"failed: {command}: {said.decode(errors='replace')[-400:]}", file=sys.stderr)
        return None
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss / 1024}


def median_run(runs):
    """The median of each figure, or None if a run failed."""
    if not all(runs):
        return None
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def size(directory):
    return sum(path.stat().st_size for path in directory.rglob("*.parquet")) / 1e6


def of_output(what, directory):
    said = subprocess.run([sys.executable, str(HERE / "outputs.py"), what, str(directory)], capture_output=True)
    return json.loads(said.stdout) if said.returncode == 0 else None


def fresh(directory):
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


def spread(values, digits=2):
    """Median, with the lowest and the highest."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


class Bench:
    def __init__(self, task):
        self.task = task
        self.scratch = Path(task["scratch"])
        self.source = Path(task["source"])
        self.lost = []
        self.unsteady = []
        self.lakes = 0

    def ours(self, source, name, out, threads):
        command = [self.task["program"], "convert", str(source), str(out), "--tables", name]
        command += ["--trace", self.task["trace"], "--allow-missing"]
        return command + ["--threads", str(threads), "--progress", "none", "--checksums", "none"]

    def peer(self, system, source, name, out, threads):
        files = sorted(str(path) for path in (source / name).glob("*.csv.gz"))
        job = {"files": files, "columns": self.task["tables"][name], "out": str(out), "threads": threads}
        path = self.scratch / "job.json"
        path.write_text(json.dumps(job))
        return [sys.executable, str(HERE / "peers.py"), system, str(path)]

    def run(self, system, source, name, out):
        """One run of a system, which writes to an empty directory."""
        threads = self.task["threads"]
        if system == OURS:
            out.rmdir()
            return measured(self.ours(source, name, out, threads))
        return measured(self.peer(system, source, name, out, threads))

    def output(self, label, system, run="0-0"):
        """Where a system writes in a run."""
        return self.scratch / "out" / label / run / system

    def convert(self, name, source, label):
        """Every system in turn, round by round: the ratios are taken within a round."""
        systems = [OURS, *peers.PEERS]
        runs = {system: [] for system in systems}
        sizes, counts = {}, {}
        for number in range(self.task["rounds"]):
            for system in systems:
                outs = [fresh(self.output(label, system, f"{number}-{run}")) for run in range(RUNS)]
                runs[system].append(median_run([self.run(system, source, name, out) for out in outs]))
                if runs[system][-1]:
                    sizes[system], counts[system] = size(outs[0]), of_output("rows", outs[0])
        lines = []
        for system in systems:
            pairs = [(run, ours) for run, ours in zip(runs[system], runs[OURS]) if run and ours]
            if not pairs:
                lines.append([system, "failed", "", "", "", ""])
                continue
            ratio = {key: spread([run[key] / ours[key] for run, ours in pairs]) for key in ("wall", "cpu", "peak")}
            wall = statistics.median(run["wall"] for run, _ in pairs)
            right = "" if counts[system] == counts[OURS] else f" ({counts[system]} rows!)"
            # Parts that are repeated are next to nothing in a file that has all of them.
            size_ratio = sizes[system] / sizes[OURS] if source == self.source else None
            if size_ratio and size_ratio < 0.995:
                self.lost.append(f"{label}: {system} writes {size_ratio:.2f} of our size")
            for key in ("wall", "cpu", "peak"):
                median = statistics.median(run[key] / ours[key] for run, ours in pairs)
                if median < 0.995:
                    self.lost.append(f"{label}: {system} takes {median:.2f} of our {key}")
            line = [system + right, f"{wall:.2f}", ratio["wall"], ratio["cpu"], ratio["peak"]]
            lines.append([*line, f"{size_ratio:.2f}" if size_ratio else ""])
        return lines, runs, sizes, counts[OURS]

    def real(self, name, files):
        """A source of real parts, repeated under new numbers; kept for the next time."""
        source = self.scratch.parent / f"real-{name}"
        folder = source / name
        folder.mkdir(parents=True, exist_ok=True)
        for part in range(REAL_PARTS[name]):
            path = folder / f"part-{part:05d}-of-{PUBLISHED_PARTS:05d}.csv.gz"
            if not path.exists():
                shutil.copy(files[part % len(files)], path)
        return source

    def steady(self, what, ratios):
        """Remembers what differs too much between rounds to be worth a page; returns the spread."""
        if max(ratios) - min(ratios) > STEADY * statistics.median(ratios):
            self.unsteady.append(f"{what}: {spread(ratios)}")
        return spread(ratios)

    def inflate(self, name):
        files = sorted(str(path) for path in (self.source / name).glob("*.csv.gz"))
        return [measured([self.task["inflate"], *files]) for _ in range(self.task["rounds"])]

    def one_file(self, name):
        """One part alone on one thread and on all of them."""
        found = {}
        for threads in (1, self.task["threads"]):
            found[threads] = []
        for _ in range(self.task["rounds"]):
            for threads in found:
                found[threads].append(measured(self.ours(self.task["large"], name, self.out(), threads)))
        return found

    def generated(self, parts, rows):
        """A source of the largest table with other numbers of parts and rows; kept for the next time."""
        source = self.scratch.parent / f"{parts}-parts-{rows}-rows"
        if not (source / "SHA256SUM").exists():
            command = [self.task["program"], "generate", self.task["trace"], str(source)]
            subprocess.run([*command, "--parts", str(parts), "--rows", str(rows)], check=True, capture_output=True)
        return source

    def out(self):
        """Where a lake can be made. Others stay until the end of a comparison: ext4 takes longer to make files for
        minutes after it has removed many."""
        self.lakes += 1
        return self.scratch / f"lake-{self.lakes}"

    def alternating(self, trace, source, name, threads):
        """One run of ours on a source of any trace, and the size of its files."""
        out = self.out()
        command = [self.task["program"], "convert", str(source), str(out), "--tables", name, "--trace", trace]
        command += ["--allow-missing", "--threads", str(threads), "--progress", "none", "--checksums", "none"]
        return measured(command), size(out)

    def runs(self, source, name, threads, *options, code=0):
        for _ in range(self.task["rounds"]):
            yield measured([*self.ours(source, name, self.out(), threads), *options], code)

    def scale(self, name):
        """Cost as one file grows: it should be linear, and the memory flat."""
        lines, base = [], self.task["rows"] // 8
        for rows in (base, 4 * base, 16 * base):
            line = [f"{rows:,}"]
            for threads in (1, self.task["threads"]):
                runs = list(self.runs(self.generated(1, rows), name, threads))
                line.append(spread([run["cpu"] / rows * 1e6 for run in runs], 3))
                line.append(f"{max(run['peak'] for run in runs):.0f}")
            lines.append(line)
        return lines

    def small(self, name):
        """Wall time in ms of one part of a hundred rows, among two thousand."""
        source = self.generated(2000, 200_000)
        return [run["wall"] / 2000 * 1000 for run in self.runs(source, name, self.task["threads"])]

    def one_part(self, name, content):
        """A source whose only part has this content."""
        source = fresh(self.scratch / "one-part")
        (source / name).mkdir()
        (source / name / "part-00000-of-00001.csv.gz").write_bytes(content)
        return source

    def rejected(self, name, blocks):
        """Rows to reject, in long runs of each kind: blank lines, and rows without a value."""
        empty = b"," * (len(self.task["tables"][name]) - 1) + b"\n"
        return (b"\n" * 131_072 + empty * 21_845 + b"\n\n") * blocks

    def malformed(self, name):
        """Cost as rejected rows grow."""
        lines = []
        for blocks in (16, 64, 256):
            text = self.rejected(name, blocks)
            megabytes = len(text) / 1e6
            source = self.one_part(name, gzip.compress(text, 1))
            runs = list(self.runs(source, name, self.task["threads"], "--on-bad-row", "reject", code=3))
            took = [run["cpu"] / megabytes * 1000 for run in runs]
            lines.append([f"{megabytes:.0f}", spread(took, 1), f"{max(run['peak'] for run in runs):.0f}"])
        return lines

    def signalled(self, name):
        """The wait in ms from SIGINT to the end of the program, on inputs made to keep it busy."""
        inputs = {
            "rejected rows": gzip.compress(self.rejected(name, 400), 1),
            "lines of 1 MB": gzip.compress(b"x" * 1_000_000 + b"\n", 9) * 4_000,
            "empty gzip members": gzip.compress(b"") * 4_000_000,
        }
        lines = []
        for what, content in inputs.items():
            source = self.one_part(name, content)
            waits = []
            for moment in range(10):
                command = self.ours(source, name, self.out(), self.task["threads"])
                quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
                child = subprocess.Popen([*command, "--on-bad-row", "reject"], **quiet)
                time.sleep(0.05 + 0.05 * moment)
                begun = time.perf_counter()
                child.send_signal(signal.SIGINT)
                if child.wait() == 130:
                    waits.append((time.perf_counter() - begun) * 1000)
            lines.append([what, len(waits), spread(waits, 0) if waits else "it ended before"])
        return lines

    def files(self, name):
        """Cost as the number of files grows, in CPU ms a file: convert, verify against the source, inspect."""
        few = self.generated(1, 64)
        [part] = (few / name).glob("*.csv.gz")
        content = part.read_bytes()
        lines = []
        for count in (1_000, 10_000, 100_000):
            source = fresh(self.scratch / "files")
            (source / name).mkdir()
            for number in range(count):
                (source / name / f"part-{number:05d}-of-{count:05d}.csv.gz").write_bytes(content)
            out = self.out()
            program = self.task["program"]
            commands = [
                self.ours(source, name, out, self.task["threads"]),
                [program, "verify", str(out), "--source", str(source), "--progress", "none"],
                [program, "inspect", str(out)],
            ]
            line = [f"{count:,}"]
            for command in commands:
                run = measured(command)
                line += [f"{run['cpu'] / count * 1000:.3f}", f"{run['peak']:.0f}"] if run else ["failed", ""]
            lines.append(line)
            shutil.rmtree(source)
        return lines

    def start(self):
        """Wall time in ms until the program could do nothing else."""
        return [measured([self.task["program"], "--version"])["wall"] * 1000 for _ in range(20)]

    def lake(self, source, names):
        """A lake of these tables by their labels, and their rows as others write them."""
        tables = []
        for label, name in names.items():
            folder = fresh(self.scratch / "reading" / label)
            if not measured([*self.ours(source, name, folder / "lake", self.task["threads"]), "--layout", "flat"]):
                sys.exit(f"no lake of {label}")
            tables.append(reading.Table(label, name, folder))
        return tables


def main():
    task = json.load(sys.stdin)
    task["tables"], task["real"] = dict(task["tables"]), dict(task["real"])
    pages = {"peers": peers_page, "growth": growth_page, "reading": reading_part, "formats": formats_part}
    pages["clustered"] = lambda bench, _: clustered.part(bench, measured)
    print(pages[task["page"]](Bench(task), task))


def peers_page(bench, task):
    """tracelake and its peers in turn."""
    largest = max(task["tables"], key=lambda name: size_of(bench.source / name))
    sources = [(name, bench.source, name) for name in task["tables"]]
    sources += [(name, bench.real(name, files), f"real {name}") for name, files in task["real"].items()]
    header = ["system", "wall s", "wall ÷ ours", "CPU ÷ ours", "peak ÷ ours", "size ÷ ours"]
    summary, parts, lengths = [], [], []
    for name, source, label in sources:
        lines, runs, sizes, count = bench.convert(name, source, label)
        files = len(list((source / name).glob("*.csv.gz")))
        parts.append(f"### {label}\n\n{count:,} rows in {files} files.\n\n{table(header, lines)}")
        lengths.append([label, *of_output("lengths", bench.output(label, OURS))])
        if name == largest:
            summary = [*summarise(bench, name, runs, sizes), *summary]
        elif source != bench.source:
            summary += [f"\n### {label}\n", *compared(bench, label, runs)]
    if bench.unsteady:
        unsteady = "\n".join(bench.unsteady)
        sys.exit(f"rounds differ by more than {STEADY:.0%}; run this on an idle machine:\n{unsteady}")
    readings = reading_part(bench, task)
    where = table(["output", "file", "columns", "footer", "page index and bloom filters"], lengths)
    lost = "".join(f"- {line}\n" for line in bench.lost) or "Nowhere in this run.\n"
    return "\n".join(
        [
            *summary,
            f"\n{readings}",
            f"\n## Where tracelake loses\n\n{lost}",
            f"\n## Where the bytes are\n\nOf all files of a table, in bytes.\n\n{where}",
            "\n## Tables\n",
            *parts,
        ]
    )


def reading_part(bench, task):
    """The cost of reading our files, compared with those that others write from the same rows."""
    lakes = [bench.lake(bench.source, {name: name for name in reading.SIZES})]
    lakes += [bench.lake(bench.real(name, files), {f"real {name}": name}) for name, files in task["real"].items()]
    text, slow = reading.compared(lakes, task["rounds"])
    bench.lost += [f"reading {line}" for line in slow]
    return text


# The tables of other traces that are compared, and how often each system runs; runs of systems alternate.
FORMATS = ["instance_usage", "instance_events", "collection_events", "container_usage", "batch_instance", "machine_usage"]
ALTERNATING_RUNS = 5

# The inputs of the chart, of the systems that keep the order of the rows.
SMALL = "2,000 parts of 100 rows"
CHARTED = [OURS, "Polars", "DuckDB", "pyarrow"]


def formats_part(bench, task):
    """Every form of input on one thread and on all: medians of alternating runs, peers with typed schemas."""
    header = ["input", "threads", "ours, s", "fastest peer", "wall ÷ ours", "CPU ÷ ours", "smallest size ÷ ours", "all peers, wall ÷ ours"]
    lines, one, walls = [], [], {}

    def compare(label, module, job, trace, source, name, all_threads=(1, task["threads"])):
        for threads in all_threads:
            line, walls[label] = against(bench, module, job, trace, source, name, threads)
            lines.append([label, threads, *line])

    largest = max(task["tables"], key=lambda name: size_of(bench.source / name))
    columns = task["tables"][largest]
    sources = {largest: bench.generated(2, task["rows"] // 2)}
    of_table = {largest: parts_of(sources[largest], largest)}
    many = f"{largest}, many distinct floats"
    sources[many] = sources[largest].with_name(f"{sources[largest].name}-varied")
    distinct.varied(of_table[largest], columns, sources[many] / largest)
    of_table[many] = parts_of(sources[many], largest)
    for label, source in sources.items():
        compare(label, peers, job_of(of_table[label], columns), task["trace"], source, largest)
    for trace in task["formats"]:
        source = Path(trace["source"])
        for name in [name for name in FORMATS if name in trace["tables"]]:
            columns_of = trace["tables"][name]
            jsons = sorted(source.glob(f"{name}-*.json.gz"))
            files = jsons or [alone(bench, source, name)]
            module = json_peers if jsons else peers
            job = {**job_of(files, columns_of), "texts": texts_of(jsons, columns_of)}
            compare(name, module, job, trace["trace"], source if jsons else files[0], name)
            if parquets := sorted(Path(trace["parquet"]).glob(f"{name}-*.parquet.gz")) if trace["parquet"] else []:
                job = job_of(parquets, columns_of)
                compare(f"{name}, Parquet", parquet_peers, job, trace["trace"], trace["parquet"], name)
            if not jsons:
                archive = source / f"{name}.tar.gz"
                taken = {(what, n): [] for what in (files[0], archive) for n in (1, task["threads"])}
                for _ in range(ALTERNATING_RUNS):
                    for what, n in taken:
                        taken[what, n].append(bench.alternating(trace["trace"], what, name, n)[0]["wall"])
                middle = {key: statistics.median(found) for key, found in taken.items()}
                for what in (files[0], archive):
                    line = [name, what.suffixes[0][1:], f"{middle[what, 1]:.2f}", f"{middle[what, task['threads']]:.2f}"]
                    one.append([*line, f"{middle[what, 1] / middle[what, task['threads']]:.2f}"])
    small = bench.generated(2000, 200_000)
    job = job_of(parts_of(small, largest), columns)
    compare(f"{largest}, {SMALL}", peers, job, task["trace"], small, largest, [task["threads"]])
    charted = {largest: "Google 2011", "instance_usage": "Borg 2019", "container_usage": "Alibaba 2018", f"{largest}, {SMALL}": "Google 2011"}
    inputs = [(f"{trace}: {label}", {system: walls[label][system] for system in CHARTED}) for label, trace in charted.items()]
    Path(task["chart"]).write_text(chart.drawn(inputs, task["made"]))
    speedup = table(["table in one file", "form", "1 thread, s", f"{task['threads']} threads, s", "ratio"], one)
    real = [("real", [task["first_rows"]], distinct.ROWS[0])] if task["first_rows"] else []
    counts = distinct.counted([*real, *((label, files, task["rows"] // 2) for label, files in of_table.items())], columns)
    return f"{formats_part.__doc__}\n\n{table(header, lines)}\n\n{speedup}\n\n{DISTINCT}\n\n{counts}"


DISTINCT = (
    "Floats that `generate` makes have few distinct values, because a simulation needs no more; real ones may have many. How "
    "many there are, in the first rows of each input:"
)


def parts_of(source, name):
    return sorted((source / name).glob("*.csv.gz"))


def job_of(files, columns):
    return {"files": [str(file) for file in files], "columns": columns}


def alone(bench, source, name):
    """The member of an archive as a file of its own; kept for the next time."""
    path = source / "alone" / f"{name}.csv.gz"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        with tarfile.open(source / f"{name}.tar.gz") as archive, gzip.open(f"{path}.part", "wb", 6) as out:
            shutil.copyfileobj(archive.extractfile(archive.next()), out)
        os.rename(f"{path}.part", path)
    return path


def texts_of(files, columns):
    """The paths of integers that files of JSON spell as strings."""
    found = set()

    def look(value, kind, path):
        if isinstance(kind, str):
            if kind in ("Int64", "Int32") and isinstance(value, str):
                found.add(path)
        elif "list" in kind:
            for item in value or []:
                look(item, kind["list"], f"{path}[]")
        else:
            for name, field in kind["struct"]:
                look((value or {}).get(name), field, f"{path}.{name}")

    for file in files:
        with gzip.open(file) as lines:
            for line in lines:
                row = json.loads(line)
                for name, kind in columns:
                    look(row.get(name), kind, name)
    return sorted(found)


def against(bench, module, job, trace, source, name, threads):
    """The peers of a module against us: our seconds, the fastest one, and the ratios; and the seconds of each."""
    systems = [OURS, *module.PEERS]
    runs, sizes = {system: [] for system in systems}, {}
    path = bench.scratch / "job.json"
    for _ in range(ALTERNATING_RUNS):
        for system in systems:
            if system == OURS:
                run, sizes[system] = bench.alternating(trace, source, name, threads)
                runs[system].append(run)
                continue
            out = bench.out()
            out.mkdir()
            path.write_text(json.dumps({**job, "out": str(out), "threads": threads}))
            script = HERE / f"{module.__name__}.py"
            environment = {**os.environ, "POLARS_MAX_THREADS": str(threads)}
            runs[system].append(measured([sys.executable, str(script), system, str(path)], env=environment))
            sizes[system] = size(out)
    for out in bench.scratch.glob("lake-*"):
        shutil.rmtree(out)
    middle = {system: median_run(found) for system, found in runs.items()}
    others = {system: found for system, found in middle.items() if found and system != OURS}
    fastest = min(others, key=lambda system: others[system]["wall"])
    ours = middle[OURS]
    ratios = ", ".join(f"{system} {found['wall'] / ours['wall']:.2f}" for system, found in others.items())
    ratio = {key: f"{others[fastest][key] / ours[key]:.2f}" for key in ("wall", "cpu")}
    smallest = min(sizes[system] for system in others) / sizes[OURS]
    line = [f"{ours['wall']:.2f}", fastest, ratio["wall"], ratio["cpu"], f"{smallest:.2f}", ratios]
    return line, {system: found["wall"] for system, found in middle.items() if found}


def growth_page(bench, task):
    """The cost of tracelake as its input grows, and how soon it stops."""
    by_size = sorted(task["tables"], key=lambda name: size_of(bench.source / name))
    smallest, largest = by_size[0], by_size[-1]
    threads = task["threads"]
    header = ["rows of one file", "CPU s per million rows, 1 thread", "peak MB"]
    header += [f"CPU s per million rows, {threads} threads", "peak MB"]
    growth = table(header, bench.scale(largest))
    header = ["files", "convert, CPU ms per file", "peak MB", "verify --source, CPU ms per file", "peak MB", "inspect, CPU ms per file", "peak MB"]
    files = table(header, bench.files(smallest))
    rejects = table(["MB of rejected rows", "CPU ms per MB", "peak MB"], bench.malformed(smallest))
    stops = table(["input", "signals", "ms from SIGINT to the end"], bench.signalled(smallest))
    return "\n".join(
        [
            f"### As a file grows\n\n{growth}",
            f"### As files become more\n\nFiles of a few rows.\n\n{files}",
            f"### As rejected rows become more\n\n{rejects}",
            f"### Stopping\n\nOn inputs made to keep it busy.\n\n{stops}",
        ]
    )


def compared(bench, label, runs):
    """The fastest peer against tracelake."""
    ours = [run for run in runs[OURS] if run]
    others = {system: [run for run in of if run] for system, of in runs.items() if system != OURS}
    others = {system: of for system, of in others.items() if of}
    fastest = min(others, key=lambda system: statistics.median(run["wall"] for run in others[system]))
    ratios = {key: [peer[key] / own[key] for peer, own in zip(others[fastest], ours)] for key in ("wall", "cpu")}
    return [
        f"- wall ratio to the fastest peer ({fastest}): {bench.steady(label, ratios['wall'])}",
        f"- CPU ratio to the same peer, which other load affects less: {spread(ratios['cpu'])}",
    ]


def size_of(directory):
    return sum(path.stat().st_size for path in directory.iterdir())


def summarise(bench, name, runs, sizes):
    """The rows of the largest table."""
    ours = [run for run in runs[OURS] if run]
    lines = [f"## In short: {name}\n", *compared(bench, name, runs)]
    smallest = min((system for system in runs if system != OURS and system in sizes), key=sizes.get)
    lines.append(f"- size ratio to the smallest peer's output ({smallest}): {sizes[OURS] / sizes[smallest]:.2f}")
    one = bench.one_file(name)
    threads = max(one)
    speedup = [a["wall"] / b["wall"] for a, b in zip(one[1], one[threads]) if a and b]
    lines.append(f"- one file on {threads} threads against one: {bench.steady('one file', speedup)}")
    lines.append(f"- peak memory: {max(run['peak'] for run in ours):.0f} MB on {bench.task['threads']} threads")
    inflate = [run for run in bench.inflate(name) if run]
    share = [run["cpu"] / own["cpu"] for run, own in zip(inflate, ours)]
    lines.append(f"- inflating and digesting alone takes {spread(share)} of our CPU time: the limit of any design")
    lines.append(f"- one of 2,000 parts of 100 rows: {spread(bench.small(name))} ms; start of the program: {spread(bench.start(), 1)} ms")
    return lines


main()
