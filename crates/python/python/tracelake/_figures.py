"""Figures of a report: numbers of a query as SVG in a wide and a narrow form, and as a table."""

from __future__ import annotations

import importlib
import io
import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from html import escape
from typing import Any

from . import _errors, _guard, _show

#: Placeholder colours, replaced by those of the page, which differ in light and dark.
_TEXT, _GRID = "#010203", "#040506"
#: As many series of a figure have colours of their own.
COLOURS = 11
_SERIES = tuple(f"#0708{number:02x}" for number in range(COLOURS))
#: Lines differ by more than their colour.
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
_DASHES_OF_SVG = ("", "5 2", "1.5 1.5", "6 2 1.5 2")

#: Width and height in inches. The narrow form is for phones, where the wide one would be too small.
_SIZES = {"wide": (7.6, 3.4), "narrow": (3.7, 3.1)}

#: The most lines in one plot. With more, each line gets its own panel, because crossing lines are hard to follow. Then
#: the number of panels in a row, and the height of each in inches.
_MOST_LINES = 3
_COLUMNS = {"wide": 3, "narrow": 2}
_PANEL_HEIGHT = {"wide": 1.55, "narrow": 1.25}

#: Where one series is this much smaller than another, the axis is logarithmic.
_LOGARITHMIC = 100


#: With more labels at a narrow axis, they are smaller, so that they don't overlap.
_MOST_NARROW_LABELS = 14

#: Longer labels are cut at an axis.
_LONGEST_LABEL = 40

_PARTIAL = (
    "A hollow point is the plain count of an interval that the lake covers only in part; it is marked as partial in the table."
)


@dataclass(frozen=True)
class Data:
    """The numbers of a figure: one for each x and series, where it is known."""

    xs: tuple[Any, ...]
    series: tuple[str, ...]
    values: Mapping[tuple[Any, str], float]
    #: Those that are the counts of intervals of which the lake doesn't have everything.
    partial: frozenset[tuple[Any, str]] = frozenset()

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], order: Sequence[str] = ()) -> Data:
        """The rows of a query with the columns x, series and y; the series as in `order`, then by name."""
        values: dict[tuple[Any, str], float] = {}
        partial: set[tuple[Any, str]] = set()
        xs: dict[Any, None] = {}
        names: set[str] = set()
        for row in rows:
            x, name, y = row["x"], str(row["series"]), row["y"]
            xs[x] = None
            names.add(name)
            if y is not None and math.isfinite(y):
                values[x, name] = float(y)
                if row.get("partial"):
                    partial.add((x, name))
        places = {name: place for place, name in enumerate(order)}
        known = sorted(names & {name for _, name in values}, key=lambda name: (places.get(name, len(places)), name))
        ordered = sorted(xs) if all(isinstance(x, (int, float)) for x in xs) else list(xs)
        return cls(tuple(ordered), tuple(known), values, frozenset(partial))

    def of_series(self, name: str) -> list[float]:
        """The numbers of a series for every x; not a number where none is known, or it is partial."""
        keys = ((x, name) for x in self.xs)
        return [math.nan if key in self.partial else self.values.get(key, math.nan) for key in keys]

    def partial_of(self, name: str) -> list[tuple[Any, float]]:
        """The partial numbers of a series, each with its x."""
        return [(x, self.values[x, name]) for x in self.xs if (x, name) in self.partial]

    def bars_of(self, name: str) -> list[float]:
        """The numbers of a series for every category; 0 where nothing was counted."""
        return [self.values.get((x, name), 0) for x in self.xs]


def numbers(said: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The rows of a figure's query, if they have what a figure of its kind is drawn from."""
    is_along = said["plot"] in ("lines", "areas")
    x_kind, x_says = ((int, float, Decimal), "a number") if is_along else ((str,), "a text")
    if not is_along:
        # A category that is NULL is one, too.
        rows = [row | {"x": "none"} if row.get("x", "") is None else row for row in map(dict, rows)]
    for row in rows:
        if set(row) != {"x", "series", "y"}:
            raise _unfit(said, f"its columns are {', '.join(row)}")
        if not isinstance(row["x"], x_kind) or isinstance(row["x"], bool):
            raise _unfit(said, f"x is {row['x']!r} and not {x_says}")
        if isinstance(row["y"], bool) or not isinstance(row["y"], (int, float, Decimal, type(None))):
            raise _unfit(said, f"y is {row['y']!r} and no number")
    return rows


def _unfit(said: Mapping[str, Any], reason: str) -> _guard.QueryError:
    hint = f"a figure of {said['plot']} has the columns x, series and y"
    failed = _guard.QueryError(f"{said['name']}: {reason}; {hint}")
    failed.hint = hint
    return failed


class Html(str):
    """A text that is HTML already."""


class Colours:
    """The colours of a page: a series has the same one in every figure."""

    def __init__(self, events: Sequence[str]) -> None:
        #: The series that come first in every legend.
        self.order = tuple(events)
        self._places = {name: place for place, name in enumerate(events)}

    def of(self, names: Sequence[str]) -> list[int]:
        """The numbers of the colours of these series, which differ if there are enough."""
        used = {self._places[name] for name in names if name in self._places}
        for name in names:
            if name not in self._places:
                free = (place for place in range(COLOURS) if place not in used)
                self._places[name] = next(free, len(self._places) % COLOURS)
                used.add(self._places[name])
        return [self._places[name] for name in names]


def figure(said: Mapping[str, Any], data: Data, colours: Colours, note: str = "") -> str:
    """A figure with its legend, its caption, a note on what is missing, and its table."""
    name = html(said["name"])
    places = colours.of(data.series)
    partial = f" {_PARTIAL}" if data.partial else ""
    forms = "".join(f'<div class="{form}">{_svg(said, data, places, form)}</div>' for form in _SIZES)
    scale = " Each panel has its own scale." if _has_panels(data, said["plot"]) else ""
    missing = f' <strong class="note">{html(note)}</strong>' if note else ""
    return (
        f'<section id="{name}"><h2>{html(said["title"])}</h2><figure>{_legend(said, data, places)}{forms}'
        f"<figcaption>{html(said['caption'])}{scale}{partial}{missing}</figcaption></figure>"
        f"<details><summary>Numbers of this figure: {html(said['title'])}</summary>"
        f"{table(said['title'], [said['x'], *data.series], _rows(data))}</details></section>"
    )


def shown(value: object) -> str:
    """A text of the data in which every character can be seen.

    >>> shown("a\\nb\\u202ec$x$")
    'a\ufffdb\ufffdc$x$'
    """
    return "".join(one if one.isprintable() else "\ufffd" for one in str(value))


def html(value: object) -> str:
    """A text of a description or of the data in HTML; as a tag or a hidden character, it would be another page.

    >>> html("<b>'&\\u202e")
    '&lt;b&gt;&#x27;&amp;\ufffd'
    """
    return value if isinstance(value, Html) else escape(shown(value))


def need_matplotlib() -> Any:
    """The package matplotlib, whose type annotations are incomplete."""
    try:
        matplotlib: Any = importlib.import_module("matplotlib")
        for module in ("figure", "ticker"):
            importlib.import_module(f"matplotlib.{module}")
    except ImportError as missing:
        raise _errors.missing_extra("matplotlib", "report") from missing
    return matplotlib


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that scrolls in its own box; the first cell of a row is its heading."""
    head = "".join(f'<th scope="col">{html(one)}</th>' for one in heads)
    body = "".join(
        f'<tr><th scope="row">{html(first)}</th>'
        + "".join(f"<td>{html(one)}</td>" for one in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{html(title)}: table"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def number(value: float) -> str:
    """A number as people read it.

    >>> number(1234567.0), number(0.12345678), number(12345.678)
    ('1,234,567', '0.123457', '12,345.7')
    """
    if abs(value) < 1e15 and value == int(value):
        return _show.count(int(value))
    return f"{value:,.6g}" if 1e-4 < abs(value) < 1e15 else f"{value:.6g}"


def _rows(data: Data) -> Iterable[Sequence[str]]:
    for x in data.xs:
        cells = ((x, name) for name in data.series)
        yield [x if isinstance(x, str) else _exact(x), *(_cell(data, cell) for cell in cells)]


def _cell(data: Data, cell: tuple[Any, str]) -> str:
    if cell not in data.values:
        return ""
    partial = " <small>partial</small>" if cell in data.partial else ""
    return Html(_exact(data.values[cell]) + partial)


def _exact(value: float) -> Html:
    """A number as people read it, with all of its digits for programs."""
    return Html(f'<data value="{value!r}">{html(number(value))}</data>')


def _legend(said: Mapping[str, Any], data: Data, places: Sequence[int]) -> str:
    """The legend of the colours, unless the axis or the panels explain them."""
    plot = said["plot"]
    if data.series == (said["y"],) or _has_panels(data, plot):
        return ""
    items = "".join(
        f'<li><svg class="key" viewBox="0 0 28 10" aria-hidden="true">{_key(place, plot)}</svg>'
        f"{html(name)}</li>"
        for place, name in zip(places, data.series, strict=True)
    )
    return f'<ul class="legend" aria-label="Series">{items}</ul>'


def _key(place: int, plot: str) -> str:
    colour = f"var(--s{place})"
    if plot == "lines":
        dashes = _DASHES_OF_SVG[place % len(_DASHES)]
        return f'<path d="M0 5h28" style="stroke:{colour};stroke-width:2.5;stroke-dasharray:{dashes or "none"}"/>'
    return f'<rect width="28" height="10" style="fill:{colour}"/>'


def _has_panels(data: Data, plot: str) -> bool:
    """Whether each series is drawn in its own panel."""
    return plot == "lines" and len(data.series) > _MOST_LINES


def _svg(said: Mapping[str, Any], data: Data, places: Sequence[int], form: str) -> str:
    """The figure as an SVG element with a title and a description."""
    matplotlib = need_matplotlib()
    style: dict[str, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "tracelake",
        "font.family": ["DejaVu Sans"],
        "font.size": 9,
        # A dollar sign is a character as any other.
        "text.parse_math": False,
        "text.color": _TEXT,
        "axes.labelcolor": _TEXT,
        "axes.edgecolor": _TEXT,
        "xtick.color": _TEXT,
        "ytick.color": _TEXT,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.grid.axis": "y",
        "axes.axisbelow": True,
        "grid.color": _GRID,
        "grid.linewidth": 0.6,
        "path.simplify_threshold": 0.5,
    }
    text = io.StringIO()
    with matplotlib.rc_context(style), warnings.catch_warnings():
        # The page's own font has what this one lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        drawn = matplotlib.figure.Figure(figsize=_SIZES[form], layout="constrained")
        if _has_panels(data, said["plot"]):
            _panels(drawn, said, data, places, form, matplotlib.ticker)
        else:
            _one(drawn, said, data, places, form)
        for axes in drawn.axes:
            axes.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(_short))
        drawn.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _inline(text.getvalue(), said, data, f"{said['name']}-{form}")


def _one(drawn: Any, said: Mapping[str, Any], data: Data, places: Sequence[int], form: str) -> None:
    """All series over one axis."""
    axes: Any = drawn.add_subplot()
    label = shown(said["y"])
    least = _logarithmic_from(data, said["plot"])
    if least is not None:
        # From 0 to about the least number the axis is linear, so that 0 is on it.
        axes.set_yscale("symlog", linthresh=10 ** math.floor(math.log10(least)))
        label += " (logarithmic)"
    _draw(axes, data, places, said["plot"], form)
    axes.set_xlabel(shown(said["x"]))
    axes.set_ylabel(label)


def _panels(
    drawn: Any, said: Mapping[str, Any], data: Data, places: Sequence[int], form: str, ticker: Any
) -> None:
    """A small panel for each series, all over the same range, each from 0 to its own highest number."""
    columns = _COLUMNS[form]
    rows = math.ceil(len(data.series) / columns)
    drawn.set_size_inches(_SIZES[form][0], 0.5 + rows * _PANEL_HEIGHT[form])
    grid = drawn.subplots(rows, columns, sharex=True, squeeze=False).flat
    # The axes come last, so that none of those left over is taken.
    for index, (place, name, axes) in enumerate(zip(places, data.series, grid, strict=False)):
        _draw(axes, replace(data, series=(name,)), [place], "lines", form)
        # A line that is alone needs no dashes.
        for line in axes.lines[:1]:
            line.set_linestyle("-")
        axes.set_title(_label(name), loc="left", fontsize=9)
        axes.yaxis.set_major_locator(ticker.MaxNLocator(3))
        axes.xaxis.set_major_locator(ticker.MaxNLocator(4))
        is_lowest = index + columns >= len(data.series)
        axes.tick_params(labelsize=8, labelbottom=is_lowest)
    for axes in grid:
        axes.remove()
    drawn.supxlabel(shown(said["x"]), fontsize=9)
    drawn.supylabel(shown(said["y"]), fontsize=9)


def _draw(axes: Any, data: Data, places: Sequence[int], plot: str, form: str) -> None:
    colours = [_SERIES[place] for place in places]
    if plot == "lines":
        for place, colour, name in zip(places, colours, data.series, strict=True):
            dashes = _DASHES[place % len(_DASHES)]
            values = data.of_series(name)
            axes.plot(data.xs, values, color=colour, linestyle=dashes, linewidth=1.6)
            # A number between two gaps makes no line.
            alone = [(x, values[index]) for index, x in enumerate(data.xs) if _is_alone(values, index)]
            axes.plot([x for x, _ in alone], [y for _, y in alone], "o", color=colour, markersize=4)
            partial = data.partial_of(name)
            axes.plot([x for x, _ in partial], [y for _, y in partial], "o", color=colour, markersize=4, fillstyle="none")
        axes.set_ylim(bottom=min(0, *(y for (_, name), y in data.values.items() if name in data.series)))
    elif plot == "areas":
        axes.stackplot(data.xs, [data.of_series(name) for name in data.series], colors=colours, linewidth=0)
    else:
        _bars(axes, data, colours, plot == "stacks", form)


def _is_alone(values: Sequence[float], index: int) -> bool:
    """Whether a number is known, and neither the one before nor the one after is."""
    before = values[index - 1] if index > 0 else math.nan
    after = values[index + 1] if index + 1 < len(values) else math.nan
    return not math.isnan(values[index]) and math.isnan(before) and math.isnan(after)


def _bars(axes: Any, data: Data, colours: Sequence[str], is_stacked: bool, form: str) -> None:
    width = 0.8 / (1 if is_stacked else max(1, len(data.series)))
    below = [0.0] * len(data.xs)
    for place, name in enumerate(data.series):
        offset = 0 if is_stacked else (place - (len(data.series) - 1) / 2) * width
        middles = [index + offset for index in range(len(data.xs))]
        values = data.bars_of(name)
        axes.bar(middles, values, width=width, color=colours[place], bottom=below if is_stacked else None)
        below = [sum(pair) for pair in zip(below, values, strict=True)]
    # A lone bar isn't as wide as the figure, and there is no half of a thing.
    axes.set_xlim(-0.6, max(len(data.xs), 3) - 0.4)
    if axes.get_yscale() == "linear":
        axes.yaxis.get_major_locator().set_params(integer=True)
    labels = [_label(x) for x in data.xs]
    axes.set_xticks(range(len(data.xs)), labels)
    most = 12 if form == "wide" else 4
    if max(map(len, labels), default=0) * len(data.xs) > most * 6:
        axes.tick_params(axis="x", labelrotation=40)
        for tick in axes.get_xticklabels():
            tick.set_horizontalalignment("right")
            tick.set_rotation_mode("anchor")
    if form == "narrow" and len(data.xs) > _MOST_NARROW_LABELS:
        axes.tick_params(axis="x", labelsize=6)


def _label(x: object) -> str:
    """A category as the axis shows it."""
    text = shown(x)
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "\u2026"


def _logarithmic_from(data: Data, plot: str) -> float | None:
    """The least number that would be invisible otherwise: of a bar, or of a line at its highest."""
    if plot in ("areas", "stacks") or any(value < 0 for value in data.values.values()):
        return None
    highest = [max((data.values.get((x, name), 0) for x in data.xs), default=0) for name in data.series]
    shown = highest if plot == "lines" else list(data.values.values())
    if max(shown, default=0) <= _LOGARITHMIC * min((value for value in shown if value > 0), default=1):
        return None
    return min(value for value in data.values.values() if value > 0)


def _short(value: float, _: int | None = None) -> str:
    """A number at an axis."""
    for power, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= power:
            return f"{value / (1e3 if unit == 'k' else power):,.4g}{unit}"
    return f"{value:,.4g}"


_TAG = re.compile(r"<[^>]*>")
_ID = re.compile(r'\b(id=")([^"]+)"')
_REFERENCE = re.compile(r'(url\(#|href="#)([^)"]+)')


def _inline(text: str, said: Mapping[str, Any], data: Data, name: str) -> str:
    """The SVG file as an element of a page: ids of its own, colours of the page, a text alternative."""

    def adapted(tag: re.Match[str]) -> str:
        """A tag; the texts between tags stay as they are."""
        changed = _REFERENCE.sub(rf"\1{name}-\2", _ID.sub(rf'\1{name}-\2"', tag[0]))
        changed = changed.replace(_TEXT, "currentColor").replace(_GRID, "var(--grid)")
        for place, colour in enumerate(_SERIES):
            changed = changed.replace(colour, f"var(--s{place})")
        return changed

    text = text[text.index("<svg") :]
    # The page holds several figures, and their metadata say nothing.
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # matplotlib leaves a comment for every text.
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*\n\s*", " ", _TAG.sub(adapted, text))
    head = (
        f'<svg role="img" aria-labelledby="{name}-title {name}-text"'
        f'><title id="{name}-title">{html(said["title"])}</title>'
        f'<desc id="{name}-text">{html(_described(said, data))}</desc>'
    )
    opening, rest = text.split(">", 1)
    box = re.search(r'viewBox="[^"]+"', opening)
    head = head.replace('role="img"', f'role="img" {box[0] if box else ""}', 1)
    return head + rest.strip()


def _described(said: Mapping[str, Any], data: Data) -> str:
    """Describes a figure, for people who can't see it."""
    kind = {"lines": "Lines", "areas": "Stacked areas", "bars": "Bars", "stacks": "Stacked bars"}[said["plot"]]
    sentences = [f"{kind} of {said['y']} over {said['x']}."]
    if _has_panels(data, said["plot"]):
        sentences.append("Each series has its own panel.")
    for name in data.series:
        known = [(data.values[x, name], x) for x in data.xs if (x, name) in data.values]
        highest, place = max(known, key=lambda one: one[0])
        where = shown(place) if isinstance(place, str) else number(place)
        sentences.append(f"{shown(name)}: at most {number(highest)}, at {where}.")
    return " ".join(sentences) + " The table below has all numbers."
