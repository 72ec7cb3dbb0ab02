"""The collectors that come with the program."""

from collections.abc import Callable, Mapping

from openagent.collectors.evict import Evict
from openagent.collectors.hybrid import Hybrid
from openagent.collectors.summarize import SummarizeOld
from openagent.collectors.truncate import Truncate
from openagent.plugins.collector import Collector


def built_in_collectors(redact: Callable[[str], str] = str) -> Mapping[str, Collector]:
    """Summaries go through `redact` before they are kept."""
    return {each.name: each for each in (Truncate(), SummarizeOld(redact), Hybrid(redact), Evict())}
