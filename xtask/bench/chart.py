"""The bars of the README: the wall time of each system on some inputs, as a multiple of tracelake's."""

from html import escape

WIDTH, LEFT, BAR, GAP, UNIT = 760, 110, 16, 22, 120

STYLE = """\
text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.rest{fill:#57606a}.bar{fill:#afb8c1}.ours{fill:#2f6fde}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.rest{fill:#8b949e}.bar{fill:#484f58}.ours{fill:#6ea8fe}}"""


def drawn(inputs, made):
    """An SVG of these inputs: a label and the wall seconds of each system, ours first."""
    most = max(seconds / list(walls.values())[0] for _, walls in inputs for seconds in walls.values())
    unit = min(UNIT, (WIDTH - LEFT - 60) / most)
    shapes, top = [text("title", 0, 16, "Wall time as a multiple of tracelake's: a longer bar is slower")], 36
    for label, walls in inputs:
        ours = list(walls.values())[0]
        shapes.append(text("title", 0, top + 14, label))
        top += GAP
        for place, (system, seconds) in enumerate(walls.items()):
            width = seconds / ours * unit
            shapes.append(text("", 12, top + 13, system))
            kind = "bar" if place else "bar ours"
            shapes.append(f'<rect class="{kind}" x="{LEFT}" y="{top}" width="{width:.1f}" height="{BAR - 2}"/>')
            shown = f"{seconds / ours:.2f}" if place else f"1 ({seconds:.2f} s)"
            shapes.append(text("", LEFT + width + 6, top + 13, shown))
            top += BAR
        top += GAP / 2
    shapes.append(text("rest", 0, top + 14, made))
    height = top + 24
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}">'
    return "\n".join([start, f"<style>{STYLE}</style>", *shapes, "</svg>\n"])


def text(kind, x, y, words):
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text{of_kind} x="{x:.0f}" y="{y:.0f}">{escape(words)}</text>'
