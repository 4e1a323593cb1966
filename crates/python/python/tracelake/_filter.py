"""Conditions on the columns of a table, in the form that pyarrow, pandas and deltalake take: tuples.

``[a, b]`` is a AND b, and ``[[a, b], [c]]`` is (a AND b) OR c. Comparisons skip NULLs, as in SQL;
``("machine_id", "==", None)`` selects them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple, Union, cast

from ._errors import UsageError, WrongTypeError, unknown, wrong_type
from ._named import LEAST, MOST, Kind, Shown

#: A column, an operator and a value, or values for ``in`` and ``not in``.
FilterTuple = tuple[str, str, Any]

#: All of these conditions, or one of several such lists.
FilterTuples = Union[Sequence[FilterTuple], Sequence[Sequence[FilterTuple]]]

#: The operators, with the name that each has here.
OPERATORS = {
    "=": "==",
    "==": "==",
    "!=": "!=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
    "in": "in",
    "not in": "not in",
}

#: Functions that compare the columns of any engine.
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_EXAMPLE = 'such as [("file_number", "<", 10)]'

#: The Python types of a value, by the kind of its column.
_TYPES: dict[Kind, tuple[type, ...]] = {
    "integer": (int,),
    "float": (int, float),
    "text": (str,),
    "boolean": (bool,),
    "timestamp": (datetime,),
}


def all_of(conditions: Iterable[Any], true: Any) -> Any:
    """An expression that holds where all of these do; ``true`` is one that always does."""
    for one in conditions:
        true = true & one
    return true


def any_of(conditions: Iterable[Any], false: Any) -> Any:
    """An expression that holds where one of these does; ``false`` is one that never does."""
    for one in conditions:
        false = false | one
    return false


class Condition(NamedTuple):
    """One condition. ``value`` is a list for ``in`` and ``not in``, and otherwise ``None`` only for NULL."""

    column: Shown
    operator: str
    value: Any


def conditions(given: object, shown: Mapping[str, Shown], other: str) -> list[list[Condition]]:
    """The conditions that were given, checked: one of the lists has to hold, in all its conditions.

    ``other`` names what the caller takes besides tuples.
    """
    groups = _groups(given, other)
    return [[_condition(one, shown) for one in group] for group in groups]


def _groups(given: object, other: str) -> list[list[FilterTuple]]:
    if _is_condition(given):
        return [[cast(FilterTuple, given)]]
    if not isinstance(given, (list, tuple)):
        raise wrong_type("filter", f"a list of tuples {_EXAMPLE}, or {other}", given)
    items = cast("Sequence[object]", given)
    if all(_is_condition(one) for one in items):
        return [cast("list[FilterTuple]", list(items))] if items else [[]]
    groups: list[list[FilterTuple]] = []
    for item in items:
        group = list(cast("Sequence[object]", item)) if isinstance(item, (list, tuple)) else []
        for one in group or [item]:
            if not _is_condition(one) or one is item:
                raise WrongTypeError(f"filter: {one!r} is not a tuple of a column, an operator and a value")
        groups.append(cast("list[FilterTuple]", group))
    return groups


def _is_condition(given: object) -> bool:
    if not isinstance(given, tuple):
        return False
    items = cast("tuple[object, ...]", given)
    return len(items) == 3 and isinstance(items[0], str) and isinstance(items[1], str)


def _condition(given: FilterTuple, shown: Mapping[str, Shown]) -> Condition:
    name, asked, value = given
    if name not in shown:
        raise unknown("filter: there is no column", name, list(shown))
    if asked not in OPERATORS:
        raise UsageError(f"filter: there is no operator {asked!r}; there are {', '.join(OPERATORS)}")
    column, known = shown[name], OPERATORS[asked]
    if known in ("in", "not in"):
        if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
            raise wrong_type(f"filter: {name} {known}", "a list of values", value)
        return Condition(column, known, [_value(column, one) for one in value])
    if value is None:
        if known not in ("==", "!="):
            raise UsageError(f"filter: {name} {asked} None; only == and != take None")
        return Condition(column, known, None)
    return Condition(column, known, _value(column, value))


def _value(column: Shown, given: Any) -> Any:
    """A value of the column's type; numbers of NumPy become Python's."""
    value = given.item() if type(given).__module__ == "numpy" and hasattr(given, "item") else given
    types = _TYPES.get(column.kind, ())
    if not isinstance(value, types) or (isinstance(value, bool) and column.kind != "boolean"):
        raise WrongTypeError(_mismatch(column, value))
    if isinstance(value, datetime):
        in_utc = value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)
        return in_utc if column.is_utc else in_utc.replace(tzinfo=None)
    if isinstance(value, int) and not LEAST <= value <= MOST:
        raise UsageError(f"filter: {value} for {column.name} is not an integer of 64 bits")
    _check_name(column, value)
    return value


def _check_name(column: Shown, value: object) -> None:
    """Refuses the name of a code or of a range that the column can't have: no row would be found."""
    if column.made == "code":
        # A code without a name is shown as its digits.
        names = [name for _, name in column.codes]
        if value in names or re.fullmatch("-?[0-9]+", str(value)):
            return
    elif column.made == "range":
        names = list(dict.fromkeys(one.name for one in column.ranges))
        if value in names:
            return
    else:
        return
    raise unknown(f"filter: {column.name} is never", str(value), names)


def _mismatch(column: Shown, value: object) -> str:
    if column.kind == "nested":
        return f"filter: {column.name} has lists or fields, which tuples can't compare; filter what you read"
    text = f"filter: {column.name} has values of type {_TYPES[column.kind][-1].__name__}, and {value!r} is none"
    if column.made == "code":
        return f"{text}; with named=True, a code is its name, such as {column.codes[0][1]!r}"
    if column.codes and isinstance(value, str):
        codes = [code for code, name in column.codes if name == value]
        use = f"use {codes[0]}" if codes else f"use one of {', '.join(str(code) for code, _ in column.codes)}"
        return f"filter: {column.name} is an integer; pass named=True, or {use}"
    return text
