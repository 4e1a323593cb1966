"""A report: one HTML page without network that shows what is in a lake."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _bins, _checks, _column_figures, _figures, _files, _guard, _queries, _show, _steps, _tracelake
from ._errors import RefusedError, StorageError


@dataclass(frozen=True, repr=False)
class Report:
    """A page that was written."""

    #: Its file, absolute.
    path: str
    #: Its size in bytes.
    bytes: int
    #: The names of its figures.
    figures: tuple[str, ...]
    #: The figures that weren't drawn, each with the reason.
    skipped: Mapping[str, str]
    #: The results of the checks.
    checks: _checks.CheckReport

    def to_json(self) -> str:
        """Everything, as JSON."""
        facts = {
            "path": self.path,
            "bytes": self.bytes,
            "figures": self.figures,
            "skipped": dict(self.skipped),
            "checks": self.checks.to_dict(),
        }
        return json.dumps(facts, indent=2)

    def _title(self) -> str:
        return f"Report in {_files.shown(self.path)}, {_show.size(self.bytes)}"

    def _rows(self) -> list[list[str]]:
        return [[name, "drawn"] for name in self.figures] + [[name, reason] for name, reason in self.skipped.items()]

    def __repr__(self) -> str:
        return _show.text_table(self._title(), ["figure", ""], self._rows())

    def _repr_html_(self) -> str:
        return _show.html_table(self._title(), ["figure", ""], self._rows())


def report(
    lake: _queries.Lake,
    out: str,
    *,
    limits: _queries.Limits,
    overwrite: bool = False,
    steps: _steps.Steps | None = None,
) -> Report:
    """Computes everything and writes the page, under its name only when it is complete."""
    # Fail before an hour of queries if the page can't be made.
    _figures.need_matplotlib()
    directory = os.path.dirname(os.path.abspath(out))
    if os.path.isdir(out) or not os.path.isdir(directory):
        raise StorageError(f"{out}: cannot be written; name a file in an existing directory")
    if not overwrite:
        _refuse_to_replace(out)
    figures = [(said, _missing(lake, said)) for said in lake.said["figures"]] + _column_figures.asked(lake)
    steps = steps or _steps.Steps()
    steps.begin(len(lake.said["checks"]) + sum(reason is None for _, reason in figures))
    checks = _checks.check(lake, only=None, allow_missing=False, limits=limits, watch=None, steps=steps)
    drawn: dict[str, str] = {}
    failed: dict[str, str] = {}
    skipped: dict[str, str] = {}
    titles: dict[str, str] = {}
    every = [_queries.Need(one.name, "any") for one in lake.inventory.tables]
    headline = [_Number("rows", _show.count(lake.manifest.rows), lake.extent(every))]
    colours = _figures.Colours(_event_types(lake))
    # A figure is named by a description, and such a name has no hyphen.
    sections = {"the-lake": ("What this lake is", _lake(lake)), "all-checks": ("Checks", _check_section(checks))}
    with _queries.engine(lake, limits) as engine:
        for said, reason in figures:
            name = said["name"]
            titles[name] = said["title"]
            if reason:
                skipped[name] = reason
                continue
            steps.start(name)
            needs = _queries.needs(said)
            rows: Sequence[Mapping[str, Any]]
            try:
                if "shows" in said:
                    said, rows = _column_figures.numbers(engine, lake, said)
                else:
                    rows = _rows(engine, lake, said)
                if said["plot"] == "numbers":
                    headline += [_number(row, lake.extent(needs)) for row in rows if row["y"] is not None]
                elif (data := _figures.Data.of(rows, colours.order)).values:
                    drawn[name] = _figures.figure(said, data, colours, _note(lake, needs))
                    sections[name] = said["title"], drawn[name]
                else:
                    skipped[name] = said.get("reason", "no row has what it shows")
            except (_guard.QueryError, ArithmeticError, ValueError) as error:
                # One row that a query or a plot can't cope with costs this figure and no other.
                failed[name] = f"it failed: {error}"
                sections[name] = said["title"], _failed(said, failed[name])
            steps.finish(name, failed.get(name) or skipped.get(name) or "drawn")
        nulls = _nulls(lake, engine)
    if skipped:
        sections["not-drawn"] = ("Figures that weren't drawn", _skipped(titles, skipped))
    sections["empty-values"] = ("Empty values per column", nulls)
    text = _page(lake, headline, sections)
    _write(out, text, overwrite)
    return Report(_files.absolute(out), len(text.encode()), tuple(drawn), skipped | failed, checks)


def _missing(lake: _queries.Lake, said: Mapping[str, Any]) -> str | None:
    """Why a figure of the description can't be drawn."""
    needs = _queries.needs(said)
    return lake.empty(needs) or lake.out_of_order(said) or lake.missing(needs)


def _refuse_to_replace(out: str) -> None:
    if os.path.lexists(out):
        hint = "pass overwrite=True to replace it, or name another file"
        error = RefusedError(f"{out}: exists; {hint}")
        error.path, error.hint = out, hint
        raise error


@dataclass(frozen=True)
class _Number:
    """A number at the top of the page."""

    name: str
    text: str
    #: How much of the trace it is about, unless it is all.
    extent: str | None


def _number(row: Mapping[str, Any], extent: str | None) -> _Number:
    return _Number(row["x"], _with_unit(row["y"], row["series"]), extent)


def _rows(engine: _queries.Engine, lake: _queries.Lake, said: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The numbers of a figure."""
    if said.get("bins"):
        return _bins.cells(engine, lake, said)
    return _figures.numbers(said, engine.rows(said["name"], said["sql"], _queries.needs(said)))


def _failed(said: Mapping[str, Any], reason: str) -> str:
    """What is in the place of a figure that failed."""
    title, name = _figures.html(said["title"]), _figures.html(said["name"])
    return f'<section id="{name}"><h2>{title}</h2><p class="finding">This figure isn\'t drawn: {_figures.html(reason)}.</p></section>'


def _event_types(lake: _queries.Lake) -> list[str]:
    """The types of events in the order of their codes."""
    names: dict[str, None] = {}
    for table in lake.said["tables"]:
        for column in table["columns"]:
            if column["name"] in ("event_type", "type") and "SUBMIT" in [one["name"] for one in column["codes"]]:
                names |= dict.fromkeys(one["name"] for one in column["codes"])
    return list(names)


def _note(lake: _queries.Lake, needs: Sequence[_queries.Need]) -> str:
    """How much of the trace a figure shows, unless it is all."""
    shares = lake.shares(needs)
    said = [f"From {', '.join(shares)}."] if shares else []
    return " ".join([*said, *(["Synthetic rows."] if lake.manifest.synthetic else [])])


def _with_unit(value: float, unit: str) -> str:
    return _show.percent(value) if unit == "%" else f"{_figures.number(value)} {unit}".strip()


def _headline(numbers: Sequence[_Number]) -> str:
    items = "".join(
        f"<div><dt>{_figures.html(one.name)}</dt><dd>{_figures.html(one.text)}</dd>"
        f"{f'<dd class=extent>of {_figures.html(one.extent)}</dd>' if one.extent else ''}</div>"
        for one in numbers
    )
    return f'<dl class="headline">{items}</dl>'


def _page(lake: _queries.Lake, headline: Sequence[_Number], sections: Mapping[str, tuple[str, str]]) -> str:
    name = f"Synthetic rows in the form of: {lake.said['title']}" if lake.manifest.synthetic else lake.said["title"]
    title = f"{name}: report"
    links = "".join(f'<li><a href="#{_figures.html(name)}">{_figures.html(title)}</a></li>' for name, (title, _) in sections.items())
    body = "".join(text for _, text in sections.values())
    version = f"tracelake {_tracelake.__version__}"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{_figures.html(title)}</title>'
        f"<style>{_STYLE}</style></head><body>"
        '<a class="skip" href="#main">Skip to the contents</a>'
        f"<header><h1>{_figures.html(name)}</h1>"
        f"<p>A lake of {_show.several(lake.manifest.rows, 'row')}, trace <code>{_figures.html(lake.manifest.trace)}</code>.</p>"
        f"{_headline(headline)}"
        f'</header><div class="columns"><nav aria-label="Sections"><ul>{links}</ul></nav><main id="main">{body}</main></div>'
        f"<footer><p>Made by {version}. Licence of the data: {_figures.html(lake.said['licence'])}. Cite as: "
        f"{_figures.html(lake.said['citation'])}</p></footer></body></html>\n"
    )


def _lake(lake: _queries.Lake) -> str:
    manifest, said = lake.manifest, lake.said
    facts = [
        ("Trace", f"{said['title']} ({manifest.trace})"),
        ("Converted by", f"{manifest.tool} {manifest.version}"),
        ("Options", ", ".join(f"{name} {value}" for name, value in manifest.options.items())),
        ("Rows", _show.count(manifest.rows)),
        ("Rejected rows", _show.count(manifest.rejected)),
    ]
    if lake.selection:
        facts.insert(1, ("Selection", f"A subset of the trace: {lake.selection}."))
    if lake.cell is not None:
        facts.insert(1, ("Cell", lake.cell))
    if manifest.synthetic:
        facts.insert(1, ("Synthetic", "Made by tracelake generate; no row of it is real."))
    if short := [
        f"{one.name} has {_show.count(one.published_rows + one.more_than_published)} of {_show.count(one.published_rows)} rows"
        for one in lake.inventory.tables
        if not manifest.synthetic
        and one.published_rows is not None
        and one.more_than_published is not None
        and one.published_rows + one.more_than_published < _queries.COMPLETE * one.published_rows
    ]:
        facts.insert(1, ("Far from complete", "; ".join(short)))
    if lake.inventory.absent:
        facts.append(("Tables that it lacks", ", ".join(lake.inventory.absent)))
    if said["url"]:
        facts.append(("Publisher", said["url"]))
    terms = "".join(f"<dt>{_figures.html(name)}</dt><dd>{_figures.html(text)}</dd>" for name, text in facts)
    heads = ["table", "parts", "missing parts", "rows", "rows published", "rejected", "size", "from", "to"]
    rows = [
        [
            one.name,
            _show.count(one.parts),
            _runs(one.missing),
            "" if one.rows is None else _show.count(one.rows),
            "" if one.published_rows is None or manifest.synthetic else _show.count(one.published_rows),
            "" if one.rejected is None else _show.count(one.rejected),
            _show.text(one.bytes, _show.size),
            *(one.times or ("", "")),
        ]
        for one in lake.inventory.tables
    ]
    table = _figures.table("Tables of the lake", heads, rows)
    return f'<section id="the-lake"><h2>What this lake is</h2><dl>{terms}</dl><div class="facts">{table}</div></section>'


def _runs(numbers: Sequence[int]) -> str:
    """File numbers in words, cut where there are many.

    >>> _runs([0, 3, 4, 5]), _runs([])
    ('4: 0, 3-5', '0')
    """
    if not numbers:
        return "0"
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in runs]
    shown = ", ".join(texts[:8]) + (f" and {len(texts) - 8} more ranges" if len(texts) > 8 else "")
    return f"{_show.count(len(numbers))}: {shown}"


def _check_section(checks: _checks.CheckReport) -> str:
    kinds: tuple[_checks.Status, ...] = ("failed", "untried", "known", "skipped", "passed")
    counts = ", ".join(f"{len(checks.having(kind))} {kind}" for kind in kinds)
    text = (
        '<section id="all-checks"><h2>Checks</h2>'
        f"<p>Each check compares a promise of the trace's documents with the rows of this lake: {counts}. "
        "<em>Failed</em> checks found a contradiction, and <em>known</em> ones found only what is published; "
        "<em>untried</em> ones found something, but were not tried on published rows; "
        "<em>skipped</em> ones lack tables or parts.</p>"
    )
    for kind in kinds:
        results = checks.having(kind)
        if not results:
            continue
        items = "".join(_result(result) for result in results)
        is_open = " open" if kind in ("failed", "untried", "known") else ""
        text += (
            f'<details{is_open}><summary><span class="badge {kind}">{kind}</span> {len(results)} '
            f"{'check' if len(results) == 1 else 'checks'}</summary><ul class=\"checks\">{items}</ul></details>"
        )
    return text + "</section>"


def _result(result: _checks.CheckResult) -> str:
    extent = f" <small>Of {_figures.html(result.extent)}.</small>" if result.extent else ""
    text = (
        f"<li><code>{_figures.html(result.name)}</code>: {_figures.html(result.sentence)}{extent} "
        f"<small>{_figures.html(result.document)}</small>"
    )
    for finding in result.findings:
        known = f" <em>Known:</em> {_figures.html(finding.known)}" if finding.known else ""
        text += f'<p class="finding">{_figures.html(finding)}.{known}</p>'
    if result.reason:
        text += f'<p class="finding">{_figures.html(result.reason)}.</p>'
    return text + "</li>"


def _skipped(titles: Mapping[str, str], skipped: Mapping[str, str]) -> str:
    by_reason: dict[str, list[str]] = {}
    for name, reason in skipped.items():
        by_reason.setdefault(reason, []).append(titles[name])
    items = "".join(
        f"<li>{'; '.join(_figures.html(title) for title in names)}: {_figures.html(reason)}.</li>"
        for reason, names in by_reason.items()
    )
    return f'<section id="not-drawn"><h2>Figures that weren\'t drawn</h2><ul>{items}</ul></section>'


def _nulls(lake: _queries.Lake, engine: _queries.Engine) -> str:
    """The share of empty values of each column, from the statistics in the footers of the files."""
    text = (
        '<section id="empty-values"><h2>Empty values per column</h2>'
        "<p>From the footers of the files; lists are left out.</p>"
    )
    for facts in lake.manifest.tables:
        rows = engine.footers(facts.name)
        if not any(row["values"] for row in rows):
            continue
        cells = [
            [row["name"], _show.count(int(row["values"])), _show.count(int(row["nulls"] or 0)), _share(row)]
            for row in rows
        ]
        table = _figures.table(f"Empty values of {facts.name}", ["column", "rows", "empty", "share"], cells)
        most = max(rows, key=lambda row: (row["nulls"] or 0) / max(1, row["values"]))
        summary = f"at most {_share(most)} empty (<code>{_figures.html(most['name'])}</code>)"
        if not most["nulls"]:
            summary = "none with empty values"
        text += (
            f"<details><summary>{_figures.html(facts.name)}: {len(rows)} columns, {summary}</summary>{table}</details>"
        )
    return text + "</section>"


def _share(row: Mapping[str, Any]) -> str:
    return _show.percent(100 * (row["nulls"] or 0) / max(1, row["values"]))


def _write(out: str, text: str, overwrite: bool) -> None:
    directory = os.path.dirname(os.path.abspath(out))
    descriptor, staged = tempfile.mkstemp(prefix=".tracelake-", suffix=".html", dir=directory)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        # The temporary file is for its owner alone; the page is as any other file.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(staged, 0o666 & ~mask)
        if not overwrite:
            _refuse_to_replace(out)
        os.replace(staged, out)
    except BaseException:
        os.unlink(staged)
        raise


_STYLE = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--soft:#57606a;--grid:#d8dde3;--band:#f4f6f8;
--link:#0550ae;--s0:#0072b2;--s1:#c04a00;--s2:#00805a;--s3:#a8497f;--s4:#946200;--s5:#2f8fc4;--s6:#6f4fb0;
--s7:#7a4a3a;--s8:#5c5c5c;--s9:#7a7f00;--s10:#b3261e;--good:#1a7f37;--bad:#b3261e;--known:#8a5a00;--rest:#57606a}
@media screen and (prefers-color-scheme:dark){:root{--paper:#14171b;--ink:#e6e9ec;--soft:#a3abb4;--grid:#363c44;
--band:#1d2126;--link:#79b8ff;--s0:#56b4e9;--s1:#ff9d5c;--s2:#3fcf9f;--s3:#ec9bc9;--s4:#f0c040;--s5:#9fd3f5;
--s6:#b9a2f2;--s7:#d9a08c;--s8:#b8b8b8;--s9:#cdd34f;--s10:#ff8a80;--good:#56d364;--bad:#ff8a80;--known:#f0c040;
--rest:#a3abb4}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:56rem;padding:1rem;background:var(--paper);color:var(--ink);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0}h2{font-size:1.25rem;margin:2.5rem 0 .5rem}
a{color:var(--link)}a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.5rem}
/* The contents stay in sight: in a column of their own, or as a line at the top of a narrow screen. */
html{scroll-padding-top:3.5rem}
nav{position:sticky;top:0;z-index:1;background:var(--paper);padding:.4rem 0}
nav ul{display:flex;gap:.25rem 1rem;overflow-x:auto;white-space:nowrap;padding:.5rem 1rem;margin:0;list-style:none;background:var(--band);border-radius:.4rem;font-size:.9rem}
main{min-width:0}
@media screen and (min-width:70rem){html{scroll-padding-top:1rem}body{max-width:78rem}
.columns{display:grid;grid-template-columns:14rem minmax(0,1fr);gap:2rem;align-items:start}
nav{max-height:100vh;overflow-y:auto;padding:1rem 0}nav ul{flex-direction:column;white-space:normal;gap:.35rem}
main>section:first-child h2{margin-top:1rem}}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem;margin:1rem 0}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
figure{margin:1rem 0 .5rem;max-width:54rem}figure svg{width:100%;height:auto;display:block}
figure svg text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif!important}
.headline{display:flex;flex-wrap:wrap;gap:.5rem 2rem}.headline div{display:flex;flex-direction:column-reverse}
.headline dd{font-size:1.5rem;font-weight:600;line-height:1.2}.headline .extent{order:-1;font-size:.8rem;font-weight:400;color:var(--soft);max-width:14rem}.note{display:block}
figcaption{color:var(--soft);font-size:.9rem;margin-top:.5rem}
.narrow{display:none}@media (max-width:38rem){.wide{display:none}.narrow{display:block}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1rem;padding:0;margin:0 0 .5rem;font-size:.9rem}
.legend .key{width:28px;height:10px;display:inline-block;margin-right:.4rem}
details{margin:.5rem 0}summary{cursor:pointer;padding:.25rem 0}
.scroll{overflow:auto;max-height:26rem;border:1px solid var(--grid);border-radius:.3rem}
table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:.25rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--grid)}
th:first-child{text-align:left}.facts thead th{white-space:normal;vertical-align:bottom}.facts table{font-size:.8rem}.facts th,.facts td{padding:.25rem .4rem}thead th{position:sticky;top:0;background:var(--band)}tbody th{font-weight:normal}
code{font-size:.9em;overflow-wrap:anywhere}small{color:var(--soft);display:block}
.checks{padding-left:1.2rem}.checks li{margin:.5rem 0}.finding{margin:.2rem 0 .2rem 1rem;overflow-wrap:anywhere}
.badge{display:inline-block;min-width:4.5rem;text-align:center;border:2px solid var(--rest);color:var(--rest);border-radius:.3rem;padding:0 .4rem;font-weight:600}
.badge.failed{border-color:var(--bad);color:var(--bad)}.badge.passed{border-color:var(--good);color:var(--good)}
.badge.known,.badge.untried{border-color:var(--known);color:var(--known)}
footer{color:var(--soft);font-size:.85rem;margin-top:3rem;border-top:1px solid var(--grid)}
@media print{:root{color-scheme:light;--paper:#fff;--ink:#000;--soft:#444;--grid:#bbb;--band:#fff;--link:#000}body{max-width:none;padding:0;font-size:10pt}nav,.skip{display:none}
figure,tr,li{break-inside:avoid}h2{break-after:avoid}.scroll{max-height:none;overflow:visible;border:0}
.wide{display:block}.narrow{display:none}figure+details{display:none}th,td{white-space:normal;padding:.1rem .3rem}}
"""
