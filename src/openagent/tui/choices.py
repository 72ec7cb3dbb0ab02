"""What the pickers offer."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence

from textual.content import Content

from openagent.client import Client
from openagent.client.ignored import apart, in_one_line
from openagent.client.text import ago, clean, one_line, outside
from openagent.protocol.conversation import MessagesPage
from openagent.protocol.grants import Grant, GrantsList
from openagent.protocol.mcp import McpList, McpServerInfo
from openagent.protocol.models import ModelEntry, ModelsList
from openagent.protocol.search import FoundMessage, MessagesSearch
from openagent.protocol.sessions import SessionInfo, SessionList
from openagent.protocol.templates import TemplateInfo, TemplatesList
from openagent.protocol.undo import ChangedFile, LeftAlone, SessionChanges
from openagent.protocol.words import in_words
from openagent.tui.commands import Command
from openagent.tui.diff import coloured
from openagent.tui.figures import money, spent, tokens
from openagent.tui.find import excerpt
from openagent.tui.picker import Choice, Load, Preview, Search

Current = Callable[[], Client]
ARCHIVED = "archived"
"""What is chosen to see sessions that were put away. No session's id."""
BROUGHT = "brought"
"""And what to see those of other agents."""
_MOST = 200
_MOST_FOUND = 50
_AGAIN = 0.3
"""Seconds until it is asked again, while the daemon still reads what was said."""
MODES = {
    "plan": "reads only, and makes a plan",
    "ask": "asks before anything that changes something",
    "edits": "edits files unasked, asks before other commands",
    "auto": "works unasked in the jail, asks before anything leaves it",
    "full": "asks for hosts and what your rules want asked, nothing else",
}


THINKING = {
    "default": "as the provider has it",
    "off": "answers at once",
    "low": "a little, for easy things",
    "medium": "more, for most work",
    "high": "long, for what is hard",
}


def sessions(client: Current) -> Load:
    """Those that were put away are one line, at the end, and so are those of other agents."""

    async def load() -> Sequence[Choice]:
        page = await client().request(SessionList(id=client().next_id(), limit=_MOST, archived=False, brought=False))
        away = await client().request(SessionList(id=client().next_id(), limit=1, archived=True))
        theirs = sum(page.brought.values())
        more = [*([_archived()] if away.sessions else []), *([_brought(theirs)] if theirs else [])]
        return [*(_session(info) for info in page.sessions), *more]

    return load


def brought(client: Current) -> Load:
    async def load() -> Sequence[Choice]:
        op = SessionList(id=client().next_id(), limit=_MOST, archived=False, brought=True, roots=True)
        return [_session(info) for info in (await client().request(op)).sessions]

    return load


def archived(client: Current) -> Load:
    async def load() -> Sequence[Choice]:
        page = await client().request(SessionList(id=client().next_id(), limit=_MOST, archived=True))
        return [_session(info) for info in page.sessions]

    return load


def _archived() -> Choice:
    label = Content.assemble(
        (f"{'Archived sessions …':<40}", "$primary"), ("  put away until said in", "$foreground-muted")
    )
    return Choice(ARCHIVED, label, "archived sessions put away")


def _brought(number: int) -> Choice:
    label = Content.assemble(
        (f"{'Sessions of other agents …':<40}", "$primary"),
        (f"  {number:,} brought by `openagent import`", "$foreground-muted"),
    )
    return Choice(BROUGHT, label, "sessions of other agents brought imported")


def _session(info: SessionInfo) -> Choice:
    name = one_line(info.name, 40) or "unnamed"
    place = one_line(os.path.basename(info.cwd) or info.cwd, 24)
    usd, unpriced = spent(info)
    if info.origin is not None:
        place += f" · {info.origin.title}"
        usd, unpriced = usd + info.origin.usage.cost_usd, unpriced + info.origin.usage.unpriced
    label = Content.assemble(
        (f"{name:<40}", "bold"),
        (f"  {ago(info.updated_at, time.time()):<12}", "$foreground-muted"),
        (f"  {money(usd, unpriced):<8}", "$foreground-muted"),
        (f"  {place}", "$foreground-muted"),
    )
    return Choice(info.id, label, f"{info.name} {info.cwd} {info.id} {in_words(info.status)} {place}")


def said(client: Current) -> Search:
    """Sessions by what was said in them, each once, by the newest hit; chosen, the session opens there."""

    async def search(words: str) -> Sequence[Choice]:
        while True:
            found = await client().request(MessagesSearch(id=client().next_id(), query=words, limit=_MOST_FOUND))
            if found.found or not found.unread:
                break
            await asyncio.sleep(_AGAIN)
        newest: dict[str, FoundMessage] = {}
        for each in found.found:
            newest.setdefault(each.session, each)
        return [_said(each) for each in newest.values()]

    return search


def _said(found: FoundMessage) -> Choice:
    name = one_line(found.session_name, 30) or "unnamed"
    when = ago(found.created_at, time.time())
    label = Content.assemble((f"{name}  ", "bold"), (f"{when}  ", "$foreground-muted"), excerpt(found))
    return Choice(f"{found.session} {found.number}", label, "")


def models(client: Current, cwd: str) -> Load:
    async def load() -> Sequence[Choice]:
        found = await client().request(ModelsList(id=client().next_id(), cwd=cwd))
        return [_model(entry) for entry in found.models]

    return load


def _model(entry: ModelEntry) -> Choice:
    window = f"{tokens(entry.context_window)} ctx" if entry.context_window else ""
    price = "" if entry.input_usd is None else f"${entry.input_usd:g} in"
    price += "" if entry.output_usd is None else f" · ${entry.output_usd:g} out per M"
    label = Content.assemble(
        (f"{one_line(entry.name, 48):<48}", "bold"),
        (f"  {window:<12}  {price}  {clean(entry.note)}", "$foreground-muted"),
    )
    return Choice(entry.name, label, entry.name)


def commands(known: Sequence[Command], keys: Mapping[str, str]) -> Load:
    """All that can be done by name. `keys`: what does the same at once, by action."""

    async def load() -> Sequence[Choice]:
        return [_command(each, keys.get(each.action, "")) for each in known]

    return load


def _command(command: Command, key: str) -> Choice:
    label = Content.assemble(
        (f"{one_line(command.name, 16):<16}", "bold"),
        (f"  {key:<6}", "$primary"),
        (f"  {one_line(command.help, 56)}", "$foreground-muted"),
    )
    return Choice(command.name, label, " ".join((command.name, command.help, *command.words)))


def modes() -> Load:
    async def load() -> Sequence[Choice]:
        return [
            Choice(mode, Content.assemble((f"{mode:<8}", "bold"), (what, "$foreground-muted")), f"{mode} {what}")
            for mode, what in MODES.items()
        ]

    return load


def thinking() -> Load:
    async def load() -> Sequence[Choice]:
        return [
            Choice(level, Content.assemble((f"{level:<8}", "bold"), (what, "$foreground-muted")), f"{level} {what}")
            for level, what in THINKING.items()
        ]

    return load


def turns(client: Current, session: str) -> Load:
    async def load() -> Sequence[Choice]:
        page = await client().request(MessagesPage(id=client().next_id(), session=session, limit=500))
        asked = [message for message in page.messages if message.role == "user" and message.turn]
        return [
            Choice(
                str(message.turn),
                Content.assemble((f"{message.turn:>3}  ", "$primary"), one_line(message.text, 80)),
                message.text,
            )
            for message in reversed(asked)
        ]

    return load


def what_goes_back() -> Load:
    """The conversation is never taken back unasked."""

    async def load() -> Sequence[Choice]:
        told = {
            "files": "files only; the conversation stays",
            "files conversation": "files and conversation",
            "conversation": "conversation only; the files stay",
        }
        return [Choice(each, Content(words), words) for each, words in told.items()]

    return load


def left_alone(others: Sequence[LeftAlone]) -> Load:
    """What a rewind did not touch; the first choice stands for all of it."""

    async def load() -> Sequence[Choice]:
        every = Choice("", Content.styled(f"take all {len(others)} back, with what others did to them", "bold"), "all")
        return [
            every,
            *(
                Choice(
                    left.path,
                    Content.assemble(one_line(left.path, 60), (f"  {one_line(left.reason)}", "$foreground-muted")),
                    left.path,
                )
                for left in others
            ),
        ]

    return load


def changes(client: Current, session: str, width: int, *, tinted: bool) -> Preview:
    async def preview(turn: str) -> Content:
        changed = await client().request(SessionChanges(id=client().next_id(), session=session, turn=int(turn)))
        if not changed.files:
            return Content.styled("This turn changed no files.", "$foreground-muted")
        files, ignored = apart(changed.files)
        blocks = [
            Content("\n").join(
                [
                    Content.styled(clean(f"{f.status} {f.path} {_size(f)}{_note(f)}"), "bold"),
                    coloured("" if f.binary else f.patch, width, tinted=tinted, headed=False),
                ]
            )
            for f in files
        ]
        if ignored:
            blocks.append(Content.styled(f"{in_one_line(ignored)}  /diff {turn} opens them", "$foreground-muted"))
        return Content("\n").join(blocks)

    return preview


def _size(file: ChangedFile) -> str:
    return "binary" if file.binary else f"+{file.added} −{file.removed}"


def _note(file: ChangedFile) -> str:
    note = "  others have changed it since" if file.others else ""
    note += f"  not surely this session's: {file.shared}" if file.shared else ""
    return f"{note}  {outside(file.runs_outside)}" if file.runs_outside else note


def templates(client: Current, cwd: str) -> Load:
    async def load() -> Sequence[Choice]:
        found = await client().request(TemplatesList(id=client().next_id(), cwd=cwd))
        return [_template(info) for info in found.templates]

    return load


def _template(info: TemplateInfo) -> Choice:
    template = info.template
    label = Content.assemble(
        (f"{one_line(template.name, 24):<24}", "bold"),
        (f"  {info.source:<8}", "$primary"),
        (f"  {one_line(template.description or template.role, 90)}", "$foreground-muted"),
    )
    return Choice(template.name, label, f"{template.name} {template.description} {template.role} {info.source}")


def grants(client: Current, session: str) -> Load:
    async def load() -> Sequence[Choice]:
        found = await client().request(GrantsList(id=client().next_id(), session=session))
        return [_grant(grant) for grant in found.grants]

    return load


def _grant(grant: Grant) -> Choice:
    holds = "always here" if grant.scope == "always" else "this session"
    given = f"{one_line(grant.by, 12)} {ago(grant.at, time.time())}" if grant.at else ""
    label = Content.assemble(
        (f"{holds:<12}", "$primary"), (f"  {one_line(grant.covers, 68)}", "bold"), (f"  {given}", "$foreground-muted")
    )
    return Choice(grant.id, label, f"{grant.covers} {holds} {grant.by}")


_MCP_STATES = {"up": "$success", "failed": "$error", "down": "$error", "starting": "$warning"}


def mcp_servers(client: Current, cwd: str) -> Load:
    async def load() -> Sequence[Choice]:
        found = await client().request(McpList(id=client().next_id(), cwd=cwd))
        return [_mcp_server(server) for server in found.servers]

    return load


def _mcp_server(server: McpServerInfo) -> Choice:
    off = server.status == "disabled"
    label = Content.assemble(
        ("– " if off else "✓ ", "$foreground-muted" if off else "$success"),
        (f"{one_line(server.name, 24):<24}", "bold"),
        (f"  {server.status:<9}", _MCP_STATES.get(server.status, "$foreground-muted")),
        (f"  {len(server.tools)} tools  {one_line(server.detail or server.target, 60)}", "$foreground-muted"),
    )
    return Choice(f"{'on' if off else 'off'} {server.name}", label, f"{server.name} {server.status}")
