"""Figures as Markdown."""


def table(header, lines):
    text = f"| {' | '.join(header)} |\n|{'---|' * len(header)}\n"
    return text + "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)
