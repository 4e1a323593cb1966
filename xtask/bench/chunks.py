"""How much of a release a content-addressed store would get again after 1 % of its rows has changed: our pages against those
of pyarrow, with and without content-defined chunking. It prints the table of docs/internals/benchmarks.md.

    chunks.py PROGRAM [ROWS]

The store cuts bytes where a rolling hash of 64 bytes has 16 zeros: 64 KiB apart on average, at least 8 and at most 128 KiB,
as the store of the Hugging Face hub does. PROGRAM is tracelake; ROWS are those of task_usage, in one part.
"""

import gzip
import hashlib
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
import pyarrow.parquet

TABLE = "task_usage"
#: A column of numbers that differ in most rows.
CELL = 9
SAME_LENGTH = "a value of the same length"
LEAST, MOST = 8 << 10, 128 << 10
GEAR = numpy.random.Generator(numpy.random.PCG64(7)).integers(0, 2**64, 256, dtype=numpy.uint64)


def pieces(data):
    """The digests and sizes of the pieces that a store cuts bytes into."""
    hashes = GEAR[numpy.frombuffer(data, dtype=numpy.uint8)]
    for width in (1, 2, 4, 8, 16, 32):
        before = numpy.zeros_like(hashes)
        before[width:] = hashes[:-width]
        hashes = hashes + (before << numpy.uint64(width))
    cuts = numpy.flatnonzero(hashes >> numpy.uint64(48) == 0) + 1
    found, start, at = {}, 0, 0
    while start < len(data):
        at = numpy.searchsorted(cuts, start + LEAST)
        end = min(int(cuts[at]) if at < len(cuts) else len(data), start + MOST, len(data))
        found[hashlib.sha256(data[start:end]).digest()] = end - start
        start = end
    return found


def again(old, new):
    """The share of the new bytes that the store doesn't have."""
    known, wanted = pieces(old), pieces(new)
    return sum(size for digest, size in wanted.items() if digest not in known) / len(new)


def edited(lines, how):
    """The lines after one percent of them was changed."""
    chance, count = random.Random(7), len(lines) // 100
    if how == "removed in one place":
        start = len(lines) // 3
        return lines[:start] + lines[start + count :]
    chosen = set(chance.sample(range(len(lines)), count))
    if how == "removed anywhere":
        return [line for number, line in enumerate(lines) if number not in chosen]
    changed = []
    for number, line in enumerate(lines):
        if number in chosen:
            fields = line.split(b",")
            length = len(fields[CELL]) if how == SAME_LENGTH else 9
            fields[CELL] = b"0.%0*d" % (max(length - 2, 1), chance.randrange(10 ** max(length - 2, 1)))
            line = b",".join(fields)
        changed.append(line)
    return changed


def convert(program, work, name, lines):
    """Our file of these lines."""
    source, lake = work / f"{name}-source", work / f"{name}-lake"
    part = source / TABLE / "part-00000-of-00001.csv.gz"
    part.parent.mkdir(parents=True)
    part.write_bytes(gzip.compress(b"\n".join(lines) + b"\n", 1))
    subprocess.run([program, "convert", source, lake, "--progress", "none"], check=True)
    [output] = lake.glob(f"{TABLE}/*/*.parquet")
    return output


def with_pyarrow(work, output, chunking):
    """The rows of our file as pyarrow writes them."""
    path = work / f"{output.parts[-4]}-{chunking}.parquet"
    table = pyarrow.parquet.ParquetFile(output).read()
    pyarrow.parquet.write_table(table, path, compression="zstd", use_content_defined_chunking=chunking)
    return path


def main():
    program = pathlib.Path(sys.argv[1]).absolute()
    rows = sys.argv[2] if len(sys.argv) > 2 else "1000000"
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        generated = work / "generated"
        subprocess.run(
            [program, "generate", "google-2011-v2.1", generated, "--parts", "1", "--rows", rows], check=True, stderr=subprocess.DEVNULL
        )
        [part] = (generated / TABLE).glob("*.gz")
        lines = gzip.decompress(part.read_bytes()).splitlines()
        old = convert(program, work, "old", lines)
        writers = {
            "tracelake": lambda output: output,
            "pyarrow": lambda output: with_pyarrow(work, output, False),
            "pyarrow, content-defined chunking": lambda output: with_pyarrow(work, output, True),
        }
        kinds = [SAME_LENGTH, "a value of another length", "removed anywhere", "removed in one place"]
        new = {kind: convert(program, work, kind.replace(" ", "-"), edited(lines, kind)) for kind in kinds}
        print(f"| writer | bytes | {' | '.join(kinds)} |")
        print("|---" * (len(kinds) + 2) + "|")
        for name, write in writers.items():
            before = write(old)
            shares = [again(before.read_bytes(), write(new[kind]).read_bytes()) for kind in kinds]
            figures = [f"{before.stat().st_size:,}", *(f"{share:.0%}" for share in shares)]
            print(f"| {name} | {' | '.join(figures)} |")


main()
