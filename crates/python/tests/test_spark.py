"""Conversion on a real Spark cluster: a standalone master and two workers on the loopback interface.

The executors have no tracelake of their own: the wheel reaches them as an archive. Beside the cluster is an
S3 server, moto's.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tracelake

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pyspark is not installed"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed"),
]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Cluster:
    """A master and two workers, each a process group of its own."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.folder = folder
        self.home = Path(pyspark.__file__).parent
        self.port = free_port()
        self.master = f"spark://127.0.0.1:{self.port}"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        place = ["--host", "127.0.0.1", "--port", str(self.port), "--webui-port", "0"]
        self.start("master", "127.0.0.1", "org.apache.spark.deploy.master.Master", *place)
        self.wait_for("master", "I have been elected leader")
        for name in ("worker-0", "worker-1"):
            self.start_worker(name)

    def start(self, name: str, host: str, *arguments: str) -> None:
        environment = {
            **os.environ,
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": host,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_WORKER_DIR": str(self.folder / f"{name}-work"),
        }
        # What this process can import must not reach the executors by accident.
        environment.pop("PYTHONPATH", None)
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [self.home / "bin/spark-class", *arguments],
                env=environment,
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def start_worker(self, name: str) -> None:
        # Spark never starts a copy of a task on the host of the first one.
        host = f"127.0.0.{2 + int(name[-1])}"
        place = ["--host", host, "--webui-port", "0", "--cores", "2", "--memory", "1g"]
        self.start(name, host, "org.apache.spark.deploy.worker.Worker", *place, self.master)
        self.wait_for(name, "Successfully registered with master")

    def wait_for(self, name: str, text: str) -> None:
        log = self.folder / f"{name}.log"
        until = time.monotonic() + 120
        while text not in log.read_text(errors="replace"):
            assert self.processes[name].poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.1)

    def kill(self, name: str) -> None:
        """Kills a process with its executors, and waits for it."""
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def session(self, archive: Path, **options: str) -> Any:
        from pyspark.sql import SparkSession

        # The driver decides which interpreter the executors start.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master(self.master).appName("tracelake")
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.dir": str(self.folder),
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            # Copies of nearly every task that isn't among the fastest.
            "spark.speculation": "true",
            "spark.speculation.interval": "20ms",
            "spark.speculation.multiplier": "1.01",
            "spark.speculation.quantile": "0.1",
            "spark.speculation.minTaskRuntime": "1ms",
            "spark.archives": f"{archive}#wheel",
            "spark.executorEnv.PYTHONPATH": "wheel",
            **options,
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()

    def start_connect(self) -> str:
        """Starts a Connect server on this cluster, and returns its address."""
        port = free_port()
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.executorEnv.PYTHONPATH": "wheel",
            "spark.pyspark.python": sys.executable,
            "spark.connect.grpc.binding.port": str(port),
        }
        options = [text for name, value in settings.items() for text in ("--conf", f"{name}={value}")]
        server = "org.apache.spark.sql.connect.service.SparkConnectServer"
        submit = ["org.apache.spark.deploy.SparkSubmit", "--master", self.master, "--class", server]
        self.start("connect", "127.0.0.1", *submit, *options, "spark-internal")
        self.wait_for("connect", "Spark Connect server started")
        return f"sc://127.0.0.1:{port}"

    def events(self, *says: str) -> int:
        """How many events of Spark say all of this so far."""
        logs = [path for path in self.folder.glob("app-*") if path.is_file()]
        lines = [line for log in logs for line in log.read_text(errors="replace").splitlines()]
        return sum(all(text in line for text in says) for line in lines)

    def stop(self) -> None:
        for name in list(self.processes):
            self.kill(name)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The contents of the wheel, as an archive that Spark unpacks."""
    package = Path(tracelake.__file__).parent
    name = tmp_path_factory.mktemp("archive") / "tracelake"
    return Path(shutil.make_archive(str(name), "zip", package.parent, package.name))


@pytest.fixture(scope="module")
def store() -> Iterator[dict[str, str]]:
    """The variables by which a process finds the S3 server, in this one's environment, too."""
    if importlib.util.find_spec("moto") is None:
        yield {}
        return
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    bucket().create()
    yield settings
    server.stop()
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})


def bucket() -> Any:
    import boto3

    return boto3.resource("s3", region_name="us-east-1").Bucket("lakes")


@pytest.fixture(scope="module")
def spark(cluster: Cluster, archive: Path, store: dict[str, str]) -> Iterator[Any]:
    session = cluster.session(archive, **{f"spark.executorEnv.{name}": value for name, value in store.items()})
    yield session
    session.stop()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of enough files to keep two workers busy for a while."""
    path = tmp_path_factory.mktemp("large") / "trace"
    tracelake.generate("google-2011-v2.1", path, parts=12, rows=120_000)
    return path


@pytest.fixture(scope="module")
def expected(large: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The lake of one machine."""
    out = tmp_path_factory.mktemp("expected") / "lake"
    tracelake.convert(large, out)
    return digests(out)


def digests(lake: Path | str) -> dict[str, str]:
    """Every file below a directory, directories included, or every object of a lake in the bucket, with its digest.

    Without facts and staged files: those of a task that Spark started twice may still be there."""
    if isinstance(lake, str):
        prefix = lake.removeprefix("s3://lakes/") + "/"
        found = {
            object.key.removeprefix(prefix): hashlib.sha256(object.get()["Body"].read()).hexdigest()
            for object in bucket().objects.filter(Prefix=prefix)
        }
    else:
        found = {
            str(path.relative_to(lake)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "directory"
            for path in sorted(lake.rglob("*"))
        }
    passing = ("_tracelake/facts", "_tracelake/staging")
    return {name: digest for name, digest in found.items() if not name.startswith(passing)}


def waits_for_a_kill(task: Any, copied: Path, killed: Path) -> Any:
    """A task whose first attempts at two shards do nothing until `killed` exists, so that Spark starts copies of
    them. A copy does the work, makes the file `copied`, since Spark writes its own log late, and keeps its result
    until `killed` exists."""

    def waiting(batches: Any) -> Any:
        import time

        from pyspark import TaskContext

        def wait() -> None:
            # The limit is for a driver that is gone.
            for _ in range(3000):
                if killed.exists():
                    return
                time.sleep(0.1)

        context = TaskContext.get()
        is_copied = context.partitionId() in (0, 1)
        if is_copied and context.attemptNumber() == 0:
            wait()
        results = list(task(batches))
        if is_copied and context.attemptNumber() > 0:
            copied.touch()
            wait()
        yield from results

    return waiting


@pytest.mark.parametrize("place", ["disk", "bucket"])
def test_a_killed_worker_and_speculation_change_no_byte(
    place: str,
    cluster: Cluster,
    spark: Any,
    store: dict[str, str],
    large: Path,
    expected: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out: Path | str = tmp_path / "lake"
    if place == "bucket":
        if not store:
            pytest.skip("moto is not installed")
        out = "s3://lakes/killed"
        # A bucket has no directories, and its lake no locks.
        locks = ["_tracelake/lock", "_tracelake/work"]
        expected = {name: found for name, found in expected.items() if found != "directory" and name not in locks}
    copies_before = cluster.events('"Event":"SparkListenerTaskStart"', '"Speculative":true')
    lost_before = cluster.events('"Event":"SparkListenerExecutorRemoved"')
    plain = tracelake.spark._task
    copied, killed = tmp_path / "copied", tmp_path / "killed"
    monkeypatch.setattr(tracelake.spark, "_task", lambda *given: waits_for_a_kill(plain(*given), copied, killed))
    events: list[tracelake.Event] = []

    def kill() -> None:
        # In the middle: most shards are done, or Spark would make no copies, and two can't end before the kill.
        while not copied.exists() and not is_over.wait(0.1):
            pass
        if copied.exists():
            cluster.kill("worker-1")
            killed.touch()

    is_over = threading.Event()
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        lake = tracelake.spark.convert(spark, large, out, progress=events.append)
    finally:
        is_over.set()
        killer.join()
    assert killed.exists(), "Spark made no copy of a task"
    assert digests(out) == expected
    assert lake == tracelake.open(out)
    kinds = [event.kind for event in events]
    assert kinds.count("begun") == 1 and "finished" in kinds and "read" in kinds
    copies = cluster.events('"Event":"SparkListenerTaskStart"', '"Speculative":true') - copies_before
    lost = cluster.events('"Event":"SparkListenerExecutorRemoved"') - lost_before
    print(
        f"worker-1 killed, {lost} executors lost, {copies} tasks started twice; "
        f"{kinds.count('finished')} parts seen; {len(expected)} equal files"
    )
    assert lost == 2 and copies > 0
    cluster.start_worker("worker-1")
    # A second call finds the lake finished, and a plain verification nothing wrong.
    assert tracelake.spark.convert(spark, large, out) == lake
    assert digests(out) == expected
    assert tracelake.verify(out, source=large)


def test_fewer_shards_make_the_same_lake(
    spark: Any, large: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    tracelake.spark.convert(spark, large, tmp_path / "lake", shards=3, threads=2)
    assert digests(tmp_path / "lake") == expected


def test_a_sample_has_the_bytes_of_one_machine(spark: Any, large: Path, tmp_path: Path) -> None:
    selection: dict[str, Any] = {"sample": "3/16", "columns": "task_usage.job_id,task_usage.cpu_rate", "time": "0..1d"}
    lake = tracelake.spark.convert(spark, large, tmp_path / "lake", shards=4, **selection)
    expected = tracelake.convert(large, tmp_path / "one", **selection)
    assert digests(tmp_path / "lake") == digests(tmp_path / "one")
    assert 0 < lake["task_usage"].rows == expected["task_usage"].rows
    facts = [part for table in lake.values() for part in table.parts]
    assert all(part.rows_in == part.rows_out + part.rows_rejected + (part.rows_not_selected or 0) for part in facts)
    assert sum(part.rows_not_selected or 0 for part in facts) > 0
    with pytest.raises(tracelake.RefusedError, match="sample was 3/16 and is now 4/16"):
        tracelake.spark.convert(spark, large, tmp_path / "lake", **{**selection, "sample": "4/16"})
    with pytest.raises(tracelake.UsageError, match="numbered from 0 to 15"):
        tracelake.spark.convert(spark, large, tmp_path / "none", sample="16/16")
    assert not (tmp_path / "none").exists()


DESCRIPTION = """
family = "weather"
licence = "CC0-1.0"
citation = "Us"
[[trace]]
name = "weather-1"
title = "Weather"
document = "A letter"
[[table]]
name = "readings"
summary = "Readings."
files = "named"
names = ["reading-{n}.csv"]
time = "at"
[[table.column]]
name = "at"
content = "at"
kind = "date-time"
zone = "none"
format = "TIME"
obfuscation = "unchanged"
doc = "When."
[[table.column]]
name = "degrees"
content = "degrees"
kind = "float"
format = "FLOAT"
obfuscation = "unchanged"
doc = "How warm."
"""


def test_executors_have_the_description_from_the_lake(spark: Any, tmp_path: Path) -> None:
    source, trace = tmp_path / "source", tmp_path / "weather.toml"
    source.mkdir()
    for number in range(6):
        (source / f"reading-{number}.csv").write_text(f"2024-05-01 08:00:0{number},{number}.5\n")
    trace.write_text(DESCRIPTION)
    tracelake.convert(source, tmp_path / "one", trace=str(trace))
    # The driver has read the file before the first task begins.
    events: list[tracelake.Event] = []

    def watch(event: tracelake.Event) -> None:
        events.append(event)
        trace.unlink(missing_ok=True)

    lake = tracelake.spark.convert(spark, source, tmp_path / "lake", trace=str(trace), shards=3, progress=watch)
    assert events and not trace.exists()
    assert lake["readings"].rows == 6 and lake.description is not None
    assert digests(tmp_path / "lake") == digests(tmp_path / "one")
    assert tracelake.verify(tmp_path / "lake", source=source)
    (tmp_path / "copy.toml").write_text(DESCRIPTION + "# another one\n")
    with pytest.raises(tracelake.RefusedError, match="description was "):
        tracelake.spark.convert(spark, source, tmp_path / "lake", trace=str(tmp_path / "copy.toml"))


def test_a_bad_row_arrives_with_its_position(spark: Any, own_source: Path, tmp_path: Path) -> None:
    part = own_source / "job_events/part-00001-of-00002.csv.gz"
    whole = part.read_bytes()
    import gzip

    part.write_bytes(whole + gzip.compress(b"12x,,3418309,0,user,3,name,logical\n"))
    out = tmp_path / "lake"
    with pytest.raises(tracelake.BadRowError) as caught:
        tracelake.spark.convert(spark, own_source, out)
    error = caught.value
    assert (error.path, error.column, error.field) == (str(part), 1, "job_events.time")
    assert error.line is not None and error.line > 1
    assert error.value == "12x" and error.exit_code == 4
    assert not (out / "_tracelake/manifest.json").exists()
    # The next run converts only what is missing.
    events: list[tracelake.Event] = []
    lake = tracelake.spark.convert(
        spark, own_source, out, on_bad_row="reject", progress=events.append
    )
    assert lake.rejected == 1
    assert [event.kind for event in events].count("kept") > 0
    one = tmp_path / "one"
    tracelake.convert(own_source, one, on_bad_row="reject")
    assert digests(out) == digests(one)


def test_a_lake_grows_with_the_same_options_alone(spark: Any, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "lake"
    tracelake.convert(source, out, tables="job_events")
    tracelake.spark.convert(spark, source, out, tables="machine_events")
    with pytest.raises(tracelake.RefusedError, match="layout was hive and is now flat"):
        tracelake.spark.convert(spark, source, out, layout="flat")


def test_another_version_is_refused(
    spark: Any, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tracelake import _tracelake

    version = tracelake.__version__
    monkeypatch.setattr(_tracelake, "__version__", "9.9.9")
    with pytest.raises(tracelake.RefusedError, match=f"has tracelake {version}, and the driver 9.9.9"):
        tracelake.spark.convert(spark, source, tmp_path / "lake")
    assert not (tmp_path / "lake/_tracelake/manifest.json").exists()


def test_an_executor_without_the_wheel_says_so(
    cluster: Cluster, spark: Any, archive: Path, source: Path, tmp_path: Path
) -> None:
    spark.stop()
    if importlib.util.find_spec("tracelake", None) and "site-packages" in tracelake.__file__:
        pytest.skip("tracelake is installed where the executors look")
    bare = cluster.session(archive, **{"spark.executorEnv.PYTHONPATH": "nowhere"})
    try:
        with pytest.raises(tracelake.FailedError, match="can't import tracelake"):
            tracelake.spark.convert(bare, source, tmp_path / "lake")
    finally:
        bare.stop()


#: A client of Connect, in a process of its own: one process can't have both kinds of session.
CLIENT = """
import sys
import tracelake
from pyspark.sql import SparkSession
address, archive, source, lake = sys.argv[1:]
spark = SparkSession.builder.remote(address).getOrCreate()
spark.addArtifacts(archive + "#wheel", archive=True)
kinds = []
tracelake.spark.convert(spark, source, lake, progress=lambda event: kinds.append(event.kind))
assert "finished" in kinds, kinds
spark.stop()
"""


@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="grpcio is not installed")
@pytest.mark.skipif(
    importlib.util.find_spec("pyspark.sql.connect.session") is None
    if importlib.util.find_spec("pyspark")
    else True,
    reason="pyspark has no Connect",
)
def test_a_session_of_connect_makes_the_same_lake(
    cluster: Cluster, archive: Path, source: Path, tmp_path: Path
) -> None:
    import pyspark

    if int(pyspark.__version__.split(".")[0]) < 4:
        pytest.skip("Spark 3.5 has no Connect server of its own")
    address = cluster.start_connect()
    try:
        places = [address, archive, source, tmp_path / "lake"]
        package = str(Path(tracelake.__file__).parent.parent)
        client = subprocess.run(
            [sys.executable, "-c", CLIENT, *map(str, places)],
            env={**os.environ, "PYTHONPATH": package},
            capture_output=True,
            text=True,
            check=False,
        )
        assert client.returncode == 0, client.stderr[-4000:]
    finally:
        cluster.kill("connect")
    tracelake.convert(source, tmp_path / "one")
    assert digests(tmp_path / "lake") == digests(tmp_path / "one")
