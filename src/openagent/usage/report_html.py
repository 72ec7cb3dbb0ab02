"""A report as one HTML page: its charts are drawn in it, nothing is fetched, and nothing runs."""

from html import escape

from openagent.protocol.reports import Report
from openagent.protocol.usage import UsageRow
from openagent.usage.report_words import all_tokens, breakdowns, figures, money, reach, title, tokens, weight

_WIDTH, _HEIGHT, _LABELS = 720, 150, 22
_MOST_LABELS = 8


def html(report: Report) -> str:
    body = [
        f"<header><h1>{escape(title(report))}</h1><p>{escape(reach(report))}</p></header>",
        f'<dl class="figures">{"".join(_figure(*each) for each in figures(report))}</dl>',
        f"<section><h2>{'By hour' if report.period == 'day' else 'By day'}</h2>{_chart(report.parts)}</section>",
        *(f"<section><h2>{escape(name)}</h2>{_table(rows)}</section>" for name, rows in breakdowns(report)),
        f"<section><h2>Failures</h2>{_failures(report)}</section>",
        f"<section><h2>Tasks done</h2>{_tasks(report)}</section>",
    ]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<title>{escape(title(report))}</title>\n<style>{_STYLE}</style>'
        f"</head>\n<body><main>\n{chr(10).join(body)}\n</main></body></html>\n"
    )


def _figure(name: str, figure: str, more: str) -> str:
    return f"<div><dt>{escape(name)}</dt><dd><b>{escape(figure)}</b><span>{escape(more)}</span></dd></div>"


def _chart(parts: list[UsageRow]) -> str:
    """Columns; each says its figures when it is pointed at."""
    if not any(row.requests for row in parts):
        return "<p class=quiet>Nothing was used.</p>"
    step = _WIDTH / len(parts)
    every = -(-len(parts) // _MOST_LABELS)
    drawn: list[str] = []
    for number, row in enumerate(parts):
        left, tall = number * step, weight(parts, row) * _HEIGHT
        told = f"{row.key}: {money(row.cost_usd, row.unpriced)}, {tokens(all_tokens(row))} tokens"
        if row.requests:
            tall = max(tall, 2)
            drawn.append(
                f'<rect x="{left + step * 0.15:.1f}" y="{_HEIGHT - tall:.1f}" width="{step * 0.7:.1f}" '
                f'height="{tall:.1f}" rx="2"><title>{escape(told)}</title></rect>'
            )
        if number % every == 0:
            label = row.key[5:] if len(row.key) == 10 else row.key
            drawn.append(f'<text x="{left + step / 2:.1f}" y="{_HEIGHT + 16}">{escape(label)}</text>')
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT + _LABELS}" role="img" aria-label="What each part of it cost">'
        f'<line x1="0" y1="{_HEIGHT}" x2="{_WIDTH}" y2="{_HEIGHT}"/>{"".join(drawn)}</svg>'
    )


def _table(rows: list[UsageRow]) -> str:
    if not rows:
        return "<p class=quiet>Nothing.</p>"
    lines = "".join(
        f'<tr><th scope="row">{escape(row.key)}</th><td>{row.requests:,}</td><td>{tokens(all_tokens(row))}</td>'
        f"<td>{money(row.cost_usd, row.unpriced)}</td><td>{_bar(weight(rows, row))}</td></tr>"
        for row in rows
    )
    return (
        '<div class="wide"><table><thead><tr><th></th><th>requests</th><th>tokens</th><th>cost</th><th></th></tr>'
        f"</thead><tbody>{lines}</tbody></table></div>"
    )


def _bar(share: float) -> str:
    drawn = f'<rect width="{share * 100:.1f}" height="8" rx="2"/>'
    return f'<svg class="bar" viewBox="0 0 100 8" aria-hidden="true">{drawn}</svg>'


def _failures(report: Report) -> str:
    if not report.failures:
        return "<p class=quiet>Nothing went wrong.</p>"
    lines = "".join(
        f'<tr><th scope="row">{escape(each.cause)}</th><td>{each.turns}</td><td>{each.retried}</td></tr>'
        for each in report.failures
    )
    return f"<table><thead><tr><th></th><th>turns</th><th>retried</th></tr></thead><tbody>{lines}</tbody></table>"


def _tasks(report: Report) -> str:
    if not report.tasks_done:
        return "<p class=quiet>None.</p>"
    return f"<ul>{''.join(f'<li>{escape(task)}</li>' for task in report.tasks_done)}</ul>"


_STYLE = """
:root{color-scheme:light dark;--ink:#1c2024;--dim:#60646c;--ground:#fcfcfd;--panel:#f2f3f5;--line:#d9dce1;--bar:#3b6fd4}
@media(prefers-color-scheme:dark){
:root{--ink:#edeef0;--dim:#a0a6b0;--ground:#111214;--panel:#1b1d21;--line:#34373d;--bar:#7aa2f7}}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:46rem;margin:0 auto;padding:2rem 1rem 3rem}
h1{font-size:1.4rem;margin:0}h2{font-size:1rem;margin:2rem 0 .5rem}header p,.quiet{color:var(--dim);margin:.25rem 0}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.75rem;margin:1.5rem 0}
.figures div{background:var(--panel);border-radius:8px;padding:.75rem 1rem}dt,dd span{color:var(--dim);font-size:.8rem}
dd{margin:0}dd b{display:block;font-size:1.35rem;font-variant-numeric:tabular-nums}
svg{display:block;width:100%;height:auto}rect{fill:var(--bar)}line{stroke:var(--line)}
text{fill:var(--dim);font-size:11px;text-anchor:middle}.bar{width:6rem}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{padding:.3rem .75rem .3rem 0;text-align:right;font-weight:400;border-bottom:1px solid var(--line);
font-variant-numeric:tabular-nums;white-space:nowrap}th[scope=row]{text-align:left;width:100%;
white-space:normal;overflow-wrap:anywhere}
thead th{color:var(--dim);font-size:.8rem;min-width:3.5rem}li{overflow-wrap:anywhere}
@media(max-width:32rem){.bar{display:none}}
"""
