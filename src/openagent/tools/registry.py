"""The built-in tools, in the order the model is offered them.

A file of this room that holds a tool of its own name is one of them, without being named here. Those that need
something to work with are made below.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from openagent import tools as room
from openagent.plugins.index import Index
from openagent.plugins.jail import NeverReached, reach_anything
from openagent.plugins.recall import Memory
from openagent.plugins.tool import FunctionTool, Tool
from openagent.tools.recall import recall_tool
from openagent.tools.search_code import search_code_tool
from openagent.tools.web_fetch import web_fetch_tool
from openagent.tools.web_search import SearchBackend, web_search_tool

ORDER = (
    "read_file", "write_file", "edit_file", "apply_patch", "list_dir", "glob", "grep", "search_code", "shell",
    "shell_output", "execute_code", "git", "web_fetch", "web_search", "ask_user", "todo", "recall",
)  # fmt: skip
"""Part of the prefix that providers cache, so these keep their places. Others follow, by their names."""


@cache
def _tools_alone() -> Sequence[Tool]:
    """Those that need nothing."""
    named = ((each.name, import_module(f"{room.__name__}.{each.name}")) for each in iter_modules(room.__path__))
    found = (getattr(module, name, None) for name, module in named)
    return [tool for tool in found if isinstance(tool, FunctionTool)]


def built_in_tools(
    *,
    disabled: Collection[str] = (),
    search: SearchBackend | None = None,
    index: Index | None = None,
    memory: Memory | None = None,
    names: Mapping[str, str] | None = None,
    never: NeverReached = reach_anything,
) -> Sequence[Tool]:
    """No web_search without a backend, no search_code without an index. `names` are hosts of a person's own, with
    their addresses."""
    tools: list[Tool] = [
        *_tools_alone(),
        *([search_code_tool(index)] if index is not None else []),
        web_fetch_tool(names=names or {}, never=never),
        *([web_search_tool(search)] if search is not None else []),
        *([recall_tool(memory)] if memory is not None else []),
    ]
    places = {name: place for place, name in enumerate(ORDER)}
    tools.sort(key=lambda tool: (places.get(tool.name, len(places)), tool.name))
    return [tool for tool in tools if tool.name not in disabled]
