"""A report as Markdown, with bars of text."""

from openagent.protocol.reports import Report
from openagent.protocol.usage import UsageRow
from openagent.usage.report_words import all_tokens, breakdowns, figures, money, reach, title, tokens, weight

_WIDTH = 24


def markdown(report: Report) -> str:
    lines = [f"# {title(report)}", "", reach(report), "", "| what | figure | |", "|---|---:|---|"]
    lines += [f"| {name} | {figure} | {more} |" for name, figure, more in figures(report)]
    lines += ["", "## By hour" if report.period == "day" else "## By day", "", "```text"]
    lines += [_line(report.parts, row) for row in report.parts]
    lines += ["```", ""]
    for name, rows in breakdowns(report):
        lines += [f"## {name}", ""]
        lines += _table(rows) if rows else ["Nothing.", ""]
    lines += ["## Failures", ""]
    if report.failures:
        lines += ["| cause | turns | retried |", "|---|---:|---:|"]
        lines += [f"| {_cell(each.cause)} | {each.turns} | {each.retried} |" for each in report.failures]
    else:
        lines.append("Nothing went wrong.")
    lines += ["", "## Tasks done", ""]
    lines += [f"- {_cell(task)}" for task in report.tasks_done] or ["None."]
    return "\n".join(lines) + "\n"


def _line(rows: list[UsageRow], row: UsageRow) -> str:
    share = weight(rows, row)
    bar = "█" * max(round(share * _WIDTH), 1 if share else 0)
    spent = f"{money(row.cost_usd, row.unpriced):>10}  {tokens(all_tokens(row)):>7}" if row.requests else ""
    return f"{row.key}  {bar:<{_WIDTH}} {spent}".rstrip()


def _table(rows: list[UsageRow]) -> list[str]:
    head = ["| | requests | tokens | cost | |", "|---|---:|---:|---:|---|"]
    return [*head, *(_row(rows, row) for row in rows), ""]


def _row(rows: list[UsageRow], row: UsageRow) -> str:
    bar = "█" * round(weight(rows, row) * _WIDTH / 2)
    cells = (_cell(row.key), f"{row.requests:,}", tokens(all_tokens(row)), money(row.cost_usd, row.unpriced), bar)
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """A name that somebody chose draws no table and no link."""
    plain = " ".join(text.split())
    return "".join(f"\\{letter}" if letter in "\\|`*_[]<>#" else letter for letter in plain)
