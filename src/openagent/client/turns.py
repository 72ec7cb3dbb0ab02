"""Which turn is the newest that can be undone."""

from openagent.client.client import Client
from openagent.protocol.conversation import MessagesPage
from openagent.protocol.review import ReviewShow


async def newest_turn(client: Client, session: str) -> int:
    """The number of the newest turn that was not taken back; 0 when there is none."""
    before: int | None = None
    while True:
        page = await client.request(MessagesPage(id=client.next_id(), session=session, before=before, limit=50))
        for message in reversed(page.messages):
            if message.turn and not any(first <= message.number <= last for first, last in page.rewound):
                return message.turn
        if not page.has_more or not page.messages:
            return 0
        before = page.messages[0].number


async def newest_turn_with_changes(client: Client, session: str) -> int:
    """The number of the newest turn with changes to files that were not undone; 0 when there is none."""
    review = await client.request(ReviewShow(id=client.next_id(), session=session))
    return review.turns[-1].turn if review.turns else 0
