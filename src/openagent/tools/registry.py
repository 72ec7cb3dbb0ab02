"""The built-in tools, in the order the model is offered them."""

from collections.abc import Sequence

from openagent.plugins.tool import Tool
from openagent.tools.edit_file import edit_file
from openagent.tools.read_file import read_file
from openagent.tools.shell import shell
from openagent.tools.write_file import write_file

BUILT_IN: Sequence[Tool] = (read_file, write_file, edit_file, shell)
