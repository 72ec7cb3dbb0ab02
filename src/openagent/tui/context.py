"""What takes how much of a model's window, in words and bars."""

from openagent.client.text import one_line
from openagent.protocol.context import ContextReport
from openagent.tui.figures import tokens

BAR = 30


def told(report: ContextReport) -> str:
    window = f" of {tokens(report.window)} ({100 * report.used_tokens / report.window:.0f}%)" if report.window else ""
    counted = "estimated" if report.estimated else "as the provider counted"
    lines = [
        f"{one_line(report.model)}: {tokens(report.used_tokens)}{window} used, {counted}",
        f"collected at {report.threshold:.0f}% by {one_line(report.collector)}",
        "",
    ]
    most = max((section.tokens for section in report.sections), default=0) or 1
    for section in report.sections:
        bar = "█" * max(round(BAR * section.tokens / most), 1 if section.tokens else 0)
        items = f"{section.items} items" if section.items else ""
        lines.append(f"{one_line(section.name, 24):<26}{tokens(section.tokens):>8}  {bar:<{BAR}}  {items}")
    if report.messages:
        lines += ["", "messages"]
    for message in report.messages:
        marks = ("pinned " if message.pinned else "") + ("shortened " if message.shortened else "")
        about = f"{marks}{one_line(message.about, 80)}"
        lines.append(f"{message.number:>6}  {message.role:<10}{tokens(message.tokens):>8}  {about}")
    return "\n".join(lines)
