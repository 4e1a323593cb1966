"""Results for people: numbers, sizes and tables, as text and as HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any


def count(number: int) -> str:
    """A number with commas."""
    return f"{number:,}"


def several(number: int, what: str) -> str:
    """A number of things.

    >>> several(1, "row"), several(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count(number)} {what}" if number == 1 else f"{count(number)} {what}s"


def percent(value: float) -> str:
    """A percentage with three digits, or with more if it isn't quite 0 or 100.

    >>> [percent(value) for value in (0, 100, 34.287, 99.97, 99.9999999, 1e-9, 100.2)]
    ['0 %', '100 %', '34.3 %', '99.97 %', 'almost 100 %', 'almost 0 %', '100.2 %']
    """
    for exact in (0, 100):
        if math.isclose(value, exact, rel_tol=1e-12):
            return f"{exact} %"
    for digits in (3, 4, 5):
        text = f"{value:.{digits}g}"
        if "e" not in text and float(text) not in (0, 100):
            return f"{text} %"
    near = min((0, 100), key=lambda exact: abs(value - exact))
    return f"almost {near} %" if abs(value - near) < 1 else f"{value:.3g} %"


def text(value: int | None, shown: Any = str) -> str:
    """A number, or nothing."""
    return "" if value is None else str(shown(value))


def size(number: int) -> str:
    """A size in bytes for people.

    >>> size(999), size(1536), size(5 << 30)
    ('999 B', '1.5 KiB', '5.0 GiB')
    """
    if number < 1024:
        return f"{number} B"
    size = float(number)
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} TiB"


def text_table(title: str, heads: Sequence[str], rows: list[list[str]], notes: Sequence[str] = ()) -> str:
    """A table as text. Headings that begin with a blank are of numbers."""
    names = [head.strip() for head in heads]
    widths = [max(len(line[place]) for line in [names, *rows]) for place in range(len(heads))]
    lines = [title]
    for row in [names, *rows]:
        cells = (
            cell.rjust(width) if head.startswith(" ") else cell.ljust(width)
            for head, cell, width in zip(heads, row, widths, strict=True)
        )
        lines.append(("  " + "  ".join(cells)).rstrip())
    return "\n".join([*lines, *notes])


def html_table(title: str, heads: Sequence[str], rows: list[list[str]], notes: Sequence[str] = ()) -> str:
    """A table as HTML."""

    def cell(kind: str, head: str, text: str) -> str:
        side = "right" if head.startswith(" ") else "left"
        return f'<{kind} style="text-align: {side}">{escape(text.strip())}</{kind}>'

    def line(kind: str, texts: Sequence[str]) -> str:
        cells = "".join(cell(kind, head, text) for head, text in zip(heads, texts, strict=True))
        return f"<tr>{cells}</tr>"

    body = "".join(line("td", row) for row in rows)
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return (
        f"<table><caption>{escape(title)}</caption><thead>{line('th', heads)}</thead>"
        f"<tbody>{body}</tbody></table>{below}"
    )
