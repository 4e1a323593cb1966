# %% [markdown]
# # Twenty questions
#
# Everyday questions about a cluster trace, each answered by one cell. You need
# `pip install 'tracelake[all]'`. The trace is synthetic; put the directory of a download in its place.
#
# `cargo xtask docs --write` makes this notebook from `crates/python/questions.py`, and `cargo xtask python` checks it.

# %% [markdown]
# ## 1. How do I make a lake of a trace?
# %%
import tracelake

tracelake.generate("google-2011-v2.1", "trace", rows=20_000)
lake = tracelake.convert("trace", "lake")
lake

# %% [markdown]
# ## 2. Which tables does it have?
# %%
list(lake)

# %% [markdown]
# ## 3. What do the columns of a table mean?
# %%
lake["task_events"]

# %% [markdown]
# ## 4. What does a code stand for?
# %%
lake["task_events"].schema["event_type"].codes

# %% [markdown]
# ## 5. What do the rows look like?
# With `named=True`, codes are shown as their names, times as seconds and timestamps, and special values as NULL.
# %%
lake["task_events"].head(columns=["time_timestamp", "job_id", "task_index", "event_type", "priority"], named=True)

# %% [markdown]
# ## 6. How many rows has each table?
# %%
{name: table.rows for name, table in lake.items()}

# %% [markdown]
# ## 7. How do I get the events that interest me?
# %%
failed = [("event_type", "in", ["FAIL", "LOST"]), ("priority", ">=", 9)]
lake["task_events"].to_polars(columns=["time_seconds", "job_id", "task_index", "event_type"], filter=failed, named=True)

# %% [markdown]
# ## 8. How do I count something without loading the table?
# %%
events = lake["task_events"].scan(named=True)
events.group_by("event_type").len().sort("len", descending=True).collect()

# %% [markdown]
# ## 9. How do I work with pandas?
# %%
machines = lake["machine_events"].to_pandas(columns=["time", "machine_id", "event_type", "cpus", "memory"], named=True)
machines.head()

# %% [markdown]
# ## 10. Which sizes do the machines have?
# %%
machines[machines["event_type"] == "ADD"].value_counts(["cpus", "memory"]).sort_index()

# %% [markdown]
# ## 11. How much CPU is used over time?
# %%
import polars as pl

hour = (pl.col("start_time_seconds") // 3600).cast(pl.Int64).alias("hour")
seconds = pl.col("end_time_seconds") - pl.col("start_time_seconds")
usage = lake["task_usage"].scan(columns=["start_time_seconds", "end_time_seconds", "cpu_rate"], named=True)
usage.group_by(hour).agg((pl.col("cpu_rate") * seconds).sum().round(2).alias("cpu_seconds")).sort("hour").collect()

# %% [markdown]
# ## 12. Can I write SQL?
# Each table is a view, and `<table>_named` is the same with names.
# %%
db = lake.duckdb()
db.sql("""
    SELECT priority, count(*) AS evictions FROM task_events_named
    WHERE event_type = 'EVICT' GROUP BY priority ORDER BY priority
""")

# %% [markdown]
# ## 13. Which jobs have the most tasks?
# %%
db.sql("""
    SELECT job_id, count(DISTINCT task_index) AS tasks FROM task_events
    GROUP BY job_id ORDER BY tasks DESC, job_id LIMIT 5
""").pl()

# %% [markdown]
# ## 14. How long do tasks wait until they run?
# %%
db.sql("""
    WITH first AS (
        SELECT job_id, task_index, priority,
               min(time_seconds) FILTER (event_type = 'SUBMIT') AS submitted,
               min(time_seconds) FILTER (event_type = 'SCHEDULE') AS scheduled
        FROM task_events_named GROUP BY ALL
    )
    SELECT priority, count(*) AS tasks, round(median(scheduled - submitted), 3) AS median_seconds
    FROM first WHERE scheduled >= submitted GROUP BY priority ORDER BY priority
""").pl()

# %% [markdown]
# ## 15. How do I join tables of my own?
# %%
import duckdb

own = duckdb.connect()
own.sql("""
    CREATE TABLE tiers AS
    SELECT * FROM (VALUES (0, 1, 'free'), (2, 8, 'other'), (9, 11, 'production')) AS t(low, high, tier)
""")
lake.duckdb(own)
own.sql("""
    SELECT tier, count(DISTINCT job_id) AS jobs
    FROM task_events JOIN tiers ON priority BETWEEN low AND high GROUP BY tier ORDER BY tier
""").pl()

# %% [markdown]
# ## 16. How do I read one part only?
# Other files aren't opened.
# %%
lake["task_usage"].to_arrow(columns=["job_id", "cpu_rate"], filter=[("file_number", "==", 0)]).num_rows

# %% [markdown]
# ## 17. How do I read a table that doesn't fit into memory?
# %%
batches = lake["task_usage"].dataset(columns=["cpu_rate"]).to_batches()
sum(batch.num_rows for batch in batches)

# %% [markdown]
# ## 18. How do I give the files to another program?
# `files` are the paths that the manifest names, and no others.
# %%
import os

[os.path.relpath(file) for file in lake["task_events"].files]

# %% [markdown]
# ## 19. How do I read a published file without a lake?
# %%
with tracelake.read_part("trace/job_events/part-00000-of-00002.csv.gz") as reader:
    rows = sum(batch.num_rows for batch in reader)
rows

# %% [markdown]
# ## 20. Can I trust it?
# Every value is compared with the source, and every row with what the documents promise.
# %%
bool(tracelake.verify(lake, source="trace")), bool(tracelake.check(lake))
