"""`openagent usage cost`, `agents` and `failures`"""

import time

import click

from openagent.cli.command import as_json, ask_daemon, command, plain, print_json, say
from openagent.cli.terminal import table
from openagent.client.text import cost as spent
from openagent.client.text import one_line, unpriced
from openagent.protocol.metrics import AgentMetrics, MetricsAgents, MetricsCost
from openagent.protocol.usage import UsageFailures
from openagent.protocol.words import in_words

_DAY = 86400.0


@command("agents", "openagent usage agents", "openagent usage agents --limit 5 --json")
@click.option("--limit", type=click.IntRange(min=1, max=200), default=20, show_default=True, help="How many at most.")
@as_json
def agents(limit: int, as_json: bool) -> None:
    """Show how fast the agents last active answer, how often they fail, what they cost."""
    answer = ask_daemon(MetricsAgents(id="-", limit=limit))
    found = answer.agents
    if as_json:
        print_json(answer)
    elif found:
        headers = ("ID", "STATUS", "TURNS", "ANSWER", "TOKENS/S", "ERRORS", "COST", "NAME")
        say(table(headers, [_row(each) for each in found]))
    else:
        say('No agent has worked yet. `openagent run "…"` starts one.')


def _row(each: AgentMetrics) -> tuple[str, ...]:
    return (
        each.id,
        in_words(each.status),
        str(each.turns),
        f"{each.avg_response_ms / 1000:.1f} s" if each.avg_response_ms else "–",
        f"{each.tokens_per_second:.0f}" if each.tokens_per_second else "–",
        f"{each.error_rate:.0%}",
        spent(each.usage.cost_usd, each.usage.unpriced) if each.usage.requests else "–",
        one_line(each.name, 60) or "–",
    )


@command("cost", "openagent usage cost", "openagent usage cost --days 7 --json")
@click.option("--days", type=click.IntRange(min=1, max=366), default=30, show_default=True)
@as_json
def cost(days: int, as_json: bool) -> None:
    """Show what was spent on what, and what this month will have cost at this pace."""
    found = ask_daemon(MetricsCost(id="-", days=days))
    if as_json:
        print_json(plain(found))
        return
    rows = [
        ("today", spent(found.today_usd, found.unpriced_today)),
        ("last 7 days", spent(found.week_usd, found.unpriced_week)),
        (f"last {days} days", spent(found.total_usd, found.unpriced)),
        ("this month, projected", spent(found.projected_month_usd, found.unpriced_month)),
    ]
    say(table(("TIME", "COST"), rows))
    for title, summed in (("MODEL", found.by_model), ("ACTIVITY", found.by_activity)):
        if summed:
            lines = [(row.key, f"{row.requests:,}", spent(row.cost_usd, row.unpriced)) for row in summed]
            say("\n" + table((title, "REQUESTS", "COST"), lines))
    if found.unpriced:
        say(f"\n? {unpriced(found.unpriced)}")


@command("failures", "openagent usage failures", "openagent usage failures --days 7 --json")
@click.option("--days", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Only the last N days.")
@as_json
def failures(days: float | None, as_json: bool) -> None:
    """Show what went wrong, by day and kind of error."""
    found = ask_daemon(UsageFailures(id="-", since=time.time() - days * _DAY if days else 0.0))
    if as_json:
        print_json(plain(found))
    elif found.rows:
        rows = [(row.day, row.code, str(row.failed), str(row.retried)) for row in found.rows]
        say(table(("DAY", "ERROR", "FAILED", "RETRIED"), rows))
    else:
        say("Nothing went wrong.")
