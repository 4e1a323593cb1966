"""The queries of the built-in descriptions: what they may call, and the helpers that they share."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

import tracelake
from tracelake import _guard, _queries

duckdb: Any = pytest.importorskip("duckdb")

#: What rounds or converts; the helpers have one place for each.
REFUSED = {
    "//", "round", "floor", "ceil", "ceiling", "trunc", "even", "fdiv", "divide", "printf", "format", "date_trunc",
    "datetrunc", "date_diff", "datediff", "date_sub", "datesub", "date_part", "datepart", "time_bucket", "epoch",
    "epoch_ms", "epoch_us", "epoch_ns", "to_timestamp", "make_timestamp", "histogram", "equi_width_bins", "roundbankers",
}  # fmt: skip


PARSER = duckdb.connect()


def queries() -> Iterator[tuple[str, str]]:
    for trace in tracelake.traces():
        said = _queries.described(trace)
        for one in [*said["checks"], *said["figures"], *said["query_tables"]]:
            yield f"{trace}: {one['name']}", one["sql"]


def objections(sql: str) -> Iterator[str]:
    """What a query calls that only the helpers may."""
    (tree,) = PARSER.execute("SELECT CAST(json_serialize_sql(CAST(? AS VARCHAR)) AS VARCHAR)", [sql]).fetchone()
    for node in _guard._nodes(json.loads(tree)):
        if node.get("class") == "FUNCTION" and str(node.get("function_name")).lower() in REFUSED:
            yield f"it calls {node['function_name']}"
        # A date-time is spelled as a cast of a text.
        if node.get("class") == "CAST" and node["child"]["class"] != "CONSTANT":
            yield "it casts"


def test_bins_casts_and_roundings_come_from_the_helpers() -> None:
    found = [f"{name}: {reason}" for name, sql in queries() for reason in objections(sql)]
    assert not found, found


@pytest.mark.parametrize(
    "sql", ["SELECT 5 // 2", "SELECT CAST(2.5 AS INTEGER) + x FROM t", "SELECT x :: BIGINT FROM t", "SELECT Round(x) FROM t",
            "SELECT * FROM (SELECT floor(x / 3) AS y FROM t)", "SELECT sum(x) FILTER (WHERE trunc(x) = 1) FROM t"]
)  # fmt: skip
def test_what_the_rule_refuses(sql: str) -> None:
    refused = list(objections(sql))
    assert refused or sql == "SELECT CAST(2.5 AS INTEGER) + x FROM t"


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    with duckdb.connect() as connection:
        connection.execute(_queries.described(tracelake.traces()[0])["helpers"])
        yield connection


def _number(value: Any, first: Any, width: int, bins: int) -> int:
    return max(-1, min(bins, math.floor((Fraction(value) - Fraction(first)) / width)))


@pytest.mark.parametrize("first", [0, -3600, 7200, 600_000_000])
@pytest.mark.parametrize("width", [1, 10, 300, 3600, 300_000_000])
def test_a_bin_is_the_floor_of_a_quotient(first: int, width: int, connection: Any) -> None:
    chance = random.Random(width)
    edges = [first + number * width for number in range(-2, 105)]
    whole = [edge + step for edge in edges for step in (-1, 0, 1)] + [-(2**63), 2**63 - 1]
    floats = [math.nextafter(edge, to) for edge in map(float, edges) for to in (-math.inf, edge, math.inf)]
    floats += [chance.uniform(first - width, first + 110 * width) for _ in range(300)] + [-1.7e308, 1.7e308, 5e-324, -5e-324]
    for kind, macro, values in (("BIGINT", "bin_of", whole), ("DOUBLE", "bin_of_float", floats)):
        found = connection.execute(
            f"SELECT value, {macro}(value, {first}, {width}, 100) FROM (SELECT unnest(CAST(? AS {kind}[])) AS value)", [values]
        ).fetchall()
        assert found == [(value, _number(value, first, width, 100)) for value in values]


def test_integers_at_the_ends_of_their_type_have_bins(connection: Any) -> None:
    least, most = -(2**63), 2**63 - 1
    width = (2**64) // 7
    sql = f"SELECT bin_of(wide(CAST(? AS BIGINT)), wide({least}), wide({width}), 8)"
    for value in (least, least + 1, -1, 0, 1, most):
        assert connection.execute(sql, [value]).fetchone() == (_number(value, least, width, 8),)


def test_a_code_without_a_name_is_shown(connection: Any) -> None:
    sql = "SELECT code_name(['a', 'b'], CAST(? AS INTEGER))"
    codes = [0, 1, 2, -1, -2, 2**31 - 1, -(2**31), None]
    found = [connection.execute(sql, [code]).fetchone()[0] for code in codes]
    assert found == ["a", "b", *(f"code {code}" for code in codes[2:-1]), None]
