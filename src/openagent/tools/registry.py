"""The built-in tools, in the order the model is offered them."""

from collections.abc import Collection, Mapping, Sequence

from openagent.plugins.index import Index
from openagent.plugins.recall import Memory
from openagent.plugins.tool import Tool
from openagent.tools.apply_patch import apply_patch
from openagent.tools.ask_user import ask_user
from openagent.tools.edit_file import edit_file
from openagent.tools.execute_code import execute_code
from openagent.tools.git import git
from openagent.tools.glob import glob
from openagent.tools.grep import grep
from openagent.tools.list_dir import list_dir
from openagent.tools.read_file import read_file
from openagent.tools.recall import recall_tool
from openagent.tools.search_code import search_code_tool
from openagent.tools.shell import shell
from openagent.tools.shell_output import shell_output
from openagent.tools.todo import todo
from openagent.tools.web_fetch import web_fetch_tool
from openagent.tools.web_search import SearchBackend, web_search_tool
from openagent.tools.write_file import write_file


def built_in_tools(
    *,
    disabled: Collection[str] = (),
    search: SearchBackend | None = None,
    index: Index | None = None,
    memory: Memory | None = None,
    names: Mapping[str, str] | None = None,
) -> Sequence[Tool]:
    """Always in the same order: it is part of the prefix that providers cache. No web_search without a backend, no
    search_code without an index. `names` are hosts of a person's own, with their addresses."""
    tools: list[Tool] = [
        read_file,
        write_file,
        edit_file,
        apply_patch,
        list_dir,
        glob,
        grep,
        *([search_code_tool(index)] if index is not None else []),
        shell,
        shell_output,
        execute_code,
        git,
        web_fetch_tool(names=names or {}),
        *([web_search_tool(search)] if search is not None else []),
        ask_user,
        todo,
        *([recall_tool(memory)] if memory is not None else []),
    ]
    return [tool for tool in tools if tool.name not in disabled]
