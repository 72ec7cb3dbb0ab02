"""What a gateway can tell of a session by itself, from the store, while its worker cannot be asked."""

from collections.abc import Iterable

from openagent.core.view_log import REWIND, standing
from openagent.plugins.store import Store
from openagent.protocol.conversation import MessagePage, MessagesPage
from openagent.protocol.events import Event, PermissionRequested, PermissionResolved, QuestionAnswered, QuestionAsked
from openagent.protocol.sessions import Snapshot

_TRIES = 5
_LOOKED_BACK = 500
"""Events among which a question that is still open is looked for."""


async def snapshot_of(store: Store, session: str, messages: int) -> Snapshot | None:
    """Without what is only live. None: it changes faster than it can be read."""
    for _ in range(_TRIES):
        stored = await store.session(session)
        seq = stored.info.seq
        page = await page_of(store, MessagesPage(id="", session=session, limit=max(messages, 1)))
        events = await store.events(session, after=max(seq - _LOOKED_BACK, 0), limit=_LOOKED_BACK)
        if (await store.session(session)).info.seq == seq:
            shown = page.messages if messages else []
            return Snapshot(
                info=stored.info,
                seq=seq,
                messages=shown,
                has_more=page.has_more or len(shown) < len(page.messages),
                turns=page.turns if shown else [],
                rewound=page.rewound,
                permissions=[each.ask for each in _unanswered(events) if isinstance(each, PermissionRequested)],
                questions=[each.question for each in _unanswered(events) if isinstance(each, QuestionAsked)],
                plan=stored.plan,
                queued=stored.queued,
                held=stored.info.held,
            )
    return None


async def page_of(store: Store, op: MessagesPage) -> MessagePage:
    limit = min(max(op.limit, 1), 1000)
    page = await store.messages(op.session, limit=limit + 1, before=op.before, after=op.after)
    shown = page[:limit] if op.after is not None else page[-limit:]
    log = standing(await store.collections(op.session))
    rewound = [numbers for each in log if each.collector == REWIND for numbers in each.hidden]
    turns = await store.turns(op.session, first=shown[0].turn, last=shown[-1].turn) if shown else []
    return MessagePage(shown, len(page) > limit, rewound, turns)


def _unanswered(events: Iterable[Event]) -> list[PermissionRequested | QuestionAsked]:
    waiting = dict[str, PermissionRequested | QuestionAsked]()
    for event in events:
        if isinstance(event, PermissionRequested):
            waiting[event.ask.id] = event
        elif isinstance(event, QuestionAsked):
            waiting[event.question.id] = event
        elif isinstance(event, PermissionResolved):
            waiting.pop(event.ask_id, None)
        elif isinstance(event, QuestionAnswered):
            waiting.pop(event.question_id, None)
    return list(waiting.values())
