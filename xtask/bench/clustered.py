"""A lake clustered by job: what making it takes, next to DuckDB's sort of the same rows, and how long the rows of one
job take to find before and after.

clustered.py sort PATH sorts what a file of JSON says; clustered.py find answers a JSON object on stdin with one on stdout.
"""

import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pyarrow
import pyarrow.parquet

import queries
from markdown import table

NAME = "task_usage"
KEY = "job_id"
# What cluster sorts by.
ORDER = [KEY, "task_index", "machine_id", "start_time"]

# What either may take. DuckDB writes what doesn't fit to the same disk.
MEMORY = "1GB"

# A query's figure is the median of this many, with a warm page cache.
RUNS = 9

# Work on more rows than this is done once.
MOST_ROWS = 20_000_000

FINDING = (
    f"The job with the median number of rows, all columns: the median of {RUNS} runs, with a warm page cache. Bytes are "
    "those of the process's calls of read; chDB reads without them."
)


def part(bench, measured):
    """The section of the page, for a sixtieth of the rows, a sixth, and all of them."""
    task = bench.task
    work, finds = [], []
    for rows in (task["rows"] // 60, task["rows"] // 6, task["rows"]):
        source = bench.source if rows == task["rows"] else bench.generated(2, rows)
        folder = bench.scratch / f"clustered-{rows}"
        folder.mkdir()
        lake, sorted_files, clustered = folder / "lake", folder / "duckdb.parquet", folder / "clustered"
        if not measured([*bench.ours(source, NAME, lake, task["threads"]), "--layout", "flat"]):
            sys.exit("no lake")
        job = {
            "files": files(lake), "out": str(sorted_files), "memory": MEMORY,
            "threads": task["threads"], "spill": str(folder / "spill"),
        }
        (folder / "sort.json").write_text(json.dumps(job))
        ours = [task["program"], "cluster", str(lake), str(clustered), "--by", "job", "--memory", MEMORY]
        ours += ["--threads", str(task["threads"]), "--progress", "none"]
        theirs = [sys.executable, __file__, "sort", str(folder / "sort.json")]
        pairs = []
        for _ in range(task["rounds"] if rows <= MOST_ROWS else 1):
            shutil.rmtree(clustered, ignore_errors=True)
            pairs.append([measured(ours), measured(theirs)])
            if not all(pairs[-1]):
                sys.exit(f"{rows:,} rows weren't sorted; the reason is above")
        ratio = {key: statistics.median(own[key] / peer[key] for own, peer in pairs) for key in ("wall", "cpu")}
        wall = [statistics.median(run["wall"] for run in runs) for runs in zip(*pairs)]
        peak = [max(run["peak"] for run in runs) for runs in zip(*pairs)]
        work.append([f"{rows:,}", *(f"{one:.2f}" for one in (*wall, *ratio.values())), *(f"{one:.0f}" for one in peak)])
        finds += found(folder, {"by time": files(lake), "by job": files(clustered)}, rows)
    header = ["rows", "cluster, s", "DuckDB, s", "wall ÷ DuckDB's", "CPU ÷ DuckDB's", "peak MB", "DuckDB's"]
    explained = f"`cluster --by job`, and DuckDB's `COPY (… ORDER BY …)` of the same files, both with {MEMORY} of memory."
    text = f"### Making it\n\n{explained}\n\n{table(header, work)}\n### Finding one job\n\n{FINDING}\n\n"
    header = ["rows", "engine", "rows of the job", "by time, ms", "by job, ms", "ratio", "by time, MB", "by job, MB"]
    return text + table(header, finds)


def files(lake):
    return sorted(str(path) for path in (lake / NAME).rglob("*.parquet"))


def found(folder, lakes, rows):
    """A line for each engine: what the median job takes in each lake."""
    job = median_job(lakes["by time"])
    for engine in queries.ENGINES:
        line = []
        for paths in lakes.values():
            task = {"engine": engine, "files": paths, "job": job, "expected": str(folder / "expected.arrow")}
            ended = subprocess.run([sys.executable, __file__, "find"], input=json.dumps(task), stdout=subprocess.PIPE, text=True)
            if ended.returncode != 0:
                sys.exit(f"{engine} didn't find the rows; the reason is above")
            line.append(json.loads(ended.stdout))
        before, after = line
        shown = [f"{before['ms']:.1f}", f"{after['ms']:.1f}", f"{after['ms'] / before['ms']:.3f}"]
        shown += [f"{one['bytes'] / 1e6:.2f}" for one in line]
        yield [f"{rows:,}", engine, before["rows"], *shown]


def median_job(paths):
    """The job with the median number of rows."""
    import duckdb

    counted = f"SELECT {KEY}, count(*) AS rows FROM read_parquet({paths}, hive_partitioning = false) GROUP BY {KEY}"
    jobs = duckdb.sql(f"SELECT {KEY} FROM ({counted}) ORDER BY rows, {KEY}").fetchall()
    return jobs[len(jobs) // 2][0]


def sort(path):
    """Sorts the rows of files into one file."""
    import duckdb

    job = json.loads(Path(path).read_text())
    config = {"memory_limit": job["memory"], "threads": job["threads"], "temp_directory": job["spill"]}
    rows = f"SELECT * FROM read_parquet({job['files']}, hive_partitioning = false) ORDER BY {', '.join(ORDER)}"
    duckdb.connect(config=config).execute(f"COPY ({rows}) TO '{job['out']}' (FORMAT parquet, COMPRESSION zstd)")


def find(task):
    """The median time and the bytes read of one query; its rows must be those that others found."""
    columns = pyarrow.parquet.read_schema(task["files"][0]).names
    query = queries.Query(where=[(KEY, "=", task["job"])], rows=columns)
    ask, files = queries.ENGINES[task["engine"]](), {NAME: task["files"]}
    rows = pyarrow.table(ask(query, files, NAME))
    queries.check(rows, Path(task["expected"]), f"{task['engine']} on {task['files'][0]}")
    taken, before = [], bytes_read()
    for _ in range(RUNS):
        begun = time.perf_counter()
        ask(query, files, NAME)
        taken.append((time.perf_counter() - begun) * 1000)
    read = (bytes_read() - before) / RUNS
    return {"rows": rows.num_rows, "ms": statistics.median(taken), "bytes": read}


def bytes_read():
    """The bytes of this process's calls of read."""
    return int(Path("/proc/self/io").read_text().split()[1])


if __name__ == "__main__":
    if sys.argv[1] == "sort":
        sort(sys.argv[2])
    else:
        json.dump(find(json.load(sys.stdin)), sys.stdout)
