"""Which sources there are, of which agents."""

from collections.abc import Iterator, Sequence

from openagent.history.copies import Copies
from openagent.history.readers import READERS
from openagent.history.reading import Look, Source
from openagent.protocol.origin import ForeignAgent


def find(look: Look, copies: Copies, agents: Sequence[ForeignAgent] = ()) -> Iterator[Source]:
    """Names, sizes and dates. The same file by two ways is one."""
    seen: set[str] = set()
    for agent, reader in READERS.items():
        if agents and agent not in agents:
            continue
        for place in reader.places(look):
            for source in reader.find(place, copies):
                if source.name not in seen:
                    seen.add(source.name)
                    yield source


def places(look: Look) -> dict[ForeignAgent, list[str]]:
    return {agent: [str(place) for place in reader.places(look)] for agent, reader in READERS.items()}
