"""The agents that work for a session, and for one another: what each does and costs, live."""

from collections.abc import Callable, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

from openagent.client import Client
from openagent.protocol import events as e
from openagent.protocol.agents import AgentTree
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.words import in_words


@dataclass
class Agent:
    session: str
    name: str
    task: str = ""
    state: str = "works"
    cost_usd: float = 0.0
    unpriced: int = 0
    tokens: int = 0
    children: "list[Agent]" = field(default_factory=list["Agent"])

    @property
    def working(self) -> bool:
        return self.state == "works"


class Agents:
    """A tree. Each agent that works is followed until its turn ends, its own agents with it."""

    def __init__(self, client: Callable[[], Client], changed: Callable[[], None]) -> None:
        self._client = client
        self._changed = changed
        self.roots: list[Agent] = []

    def clear(self) -> None:
        self.roots = []
        self._changed()

    def load(self, tree: AgentTree, own: str) -> None:
        """Those that work for the session already, from the whole tree it belongs to."""
        made: dict[str, Agent] = {}
        self.roots = []
        for info in tree.agents:
            parent = info.session.parent or ""
            if parent != own and parent not in made:
                continue
            usage = info.session.usage
            agent = made[info.session.id] = Agent(
                info.session.id,
                info.session.template or info.session.name or "agent",
                info.detail,
                "works" if info.running else in_words(info.ended or "done"),
                usage.cost_usd,
                usage.unpriced,
                usage.tokens.input_tokens + usage.tokens.output_tokens,
            )
            (made[parent].children if parent in made else self.roots).append(agent)
        self._changed()

    @property
    def cost(self) -> tuple[float, int]:
        """What they cost together, and how many requests that leaves out."""
        everyone = [agent for _, agent in self.everyone()]
        return sum(agent.cost_usd for agent in everyone), sum(agent.unpriced for agent in everyone)

    @property
    def working(self) -> list[Agent]:
        return [agent for _, agent in self.everyone() if agent.working]

    def started(self, event: e.SubagentStarted, parent: Agent | None = None) -> Agent:
        if known := next((agent for _, agent in self.everyone() if agent.session == event.child), None):
            known.state = "works"
            return known
        agent = Agent(event.child, event.template or "agent", event.task)
        (self.roots if parent is None else parent.children).append(agent)
        self._changed()
        return agent

    def finished(self, event: e.SubagentFinished) -> None:
        for _, agent in self.everyone():
            if agent.session == event.child:
                agent.state, agent.cost_usd, agent.tokens = event.reason, event.cost_usd, event.tokens
        self._changed()

    def everyone(self) -> Iterator[tuple[int, Agent]]:
        """Depth first, with the depth."""

        def below(agents: list[Agent], depth: int) -> Iterator[tuple[int, Agent]]:
            for agent in agents:
                yield depth, agent
                yield from below(agent.children, depth + 1)

        return below(self.roots, 0)

    async def follow(self, agent: Agent) -> None:
        with suppress(OpenAgentError):
            attachment = await self._client().attach(agent.session, after=0)
            async with aclosing(attachment.events()) as coming:
                async for event in coming:
                    if await self._take(agent, event):
                        break
            await attachment.detach()

    async def _take(self, agent: Agent, event: e.AnyEvent) -> bool:
        """Returns whether its work is done."""
        match event:
            case e.UsageUpdated():
                used = event.usage.tokens
                agent.cost_usd, agent.unpriced = event.usage.cost_usd, event.usage.unpriced
                agent.tokens = used.input_tokens + used.output_tokens
            case e.SubagentStarted():
                self.started(event, agent)
            case e.SubagentFinished():
                self.finished(event)
            case e.TurnCompleted():
                return True
            case _:
                return False
        self._changed()
        return False
