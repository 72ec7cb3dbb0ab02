"""codex's tools, for GPT: commands by `exec_command`, edits by `apply_patch`, as plain text where a wire has that."""

import re
import shlex
from collections.abc import Callable
from typing import Any

import msgspec

from openagent.dialects import shapes
from openagent.dialects.dialect import Dialect, covering
from openagent.dialects.shapes import LEAVING
from openagent.dialects.term import Arguments, Key, Term
from openagent.protocol.messages import ToolResultPart

PATCH_GRAMMAR = r"""
start: "*** Begin Patch" LF file+ "*** End Patch" LF?
file: added | deleted | updated
added: "*** Add File: " TEXT LF new*
deleted: "*** Delete File: " TEXT LF
updated: "*** Update File: " TEXT LF moved? hunk*
moved: "*** Move to: " TEXT LF
hunk: place+ line* last? | line+ last?
place: "@@" (" " TEXT)? LF
line: new | old | kept
new: "+" TEXT? LF
old: "-" TEXT? LF
kept: " " TEXT? LF
last: "*** End of File" LF
TEXT: /[^\r\n]+/
LF: /\r?\n/
"""
_PATCH = "A patch: *** Begin Patch, then for each file *** Add File: PATH and + lines, *** Delete File: PATH, or \
*** Update File: PATH (and *** Move to: PATH) with @@ CONTEXT, then lines led by space, - or +; *** End Patch"
_UNHEEDED = (
    "yield_time_ms",
    "max_output_tokens",
    "login",
    "shell",
    "tty",
    "sandbox_permissions",
    "with_escalated_permissions",
)
_INTERRUPT = "\x03"
_FILE = re.compile(r"(?m)^(\*\*\* (?:(?:Add|Update|Delete) File|Move to): )(?=[^/])")


def _command_told(result: ToolResultPart) -> str:
    display = result.display
    if result.is_error and display.exit_code is None and not display.summary:
        return result.text  # it did not run
    ended = f"Process exited with code {display.exit_code}"
    if display.background:
        ended = f"Process running with session ID {display.background.removeprefix('bg')}"
    elif display.exit_code is None:
        ended = "Process was killed"
    seconds = f"Wall time: {result.duration_ms / 1000:.4f} seconds"
    return f"{seconds}\n{ended}\nOutput:\n{shapes.without_exit_code(result)}"


def _patch_told(result: ToolResultPart) -> str:
    _, done, files = result.text.partition("Done:\n")
    return f"Success. Updated the following files:\n{files}" if done and not result.is_error else result.text


def _words_read(arguments: Arguments) -> Arguments:
    """Older versions give a command as the list of its words, mostly of a shell's."""
    words: Any = arguments["command"]
    if not isinstance(words, str):
        in_shell = len(words) == 3 and words[0].endswith("sh") and words[1] in ("-c", "-lc")
        arguments["command"] = words[2] if in_shell else shlex.join(words)
    return shapes.into_folder(arguments)


def _only_words_read(arguments: Arguments) -> Arguments:
    """With a `timeout`, a text is a call of our own `shell`, which counts it in seconds."""
    if isinstance(arguments["command"], str):
        raise TypeError("a command of ours")
    return _words_read(arguments)


def _patch_read(arguments: Arguments) -> Arguments:
    """`apply_patch` as a command: GPT models call it so whether or not it is offered as a tool."""
    words: Any = arguments["command"]
    if not isinstance(words, str) and len(words) == 2 and words[0] == "apply_patch":
        patch = str(words[1])
    elif not (patch := shapes.patch_in(words if isinstance(words, str) else words[-1])):
        raise ValueError("another command")
    if folder := arguments.get("folder"):
        patch = _FILE.sub(lambda found: f"{found[1]}{folder}/", patch)
    return {"patch": patch}


def _input_read(arguments: Arguments) -> Arguments:
    read: Arguments = {"id": f"bg{int(arguments['id'])}"}
    if not (typed := arguments.get("typed")):
        return read
    if typed != _INTERRUPT:
        raise ValueError("nothing can be typed here")
    return {**read, "action": "kill"}


def _commands(
    name: str, key: str, timeout: str, *, offered: bool = False, read: Callable[[Arguments], Arguments] = _words_read
) -> list[Term]:
    """A command, or a patch that is handed to one."""
    keys = (Key(key, "command", needed=True), shapes.folder("workdir"), shapes.milliseconds(timeout), *LEAVING)
    command = Term(
        name=name,
        tool="shell",
        keys=keys,
        ignored=_UNHEEDED,
        read=read,
        say=shapes.out_of_folder,
        told=_command_told,
        offered=offered,
    )
    patch = msgspec.structs.replace(command, tool="apply_patch", read=_patch_read, say=_never, told=None, offered=False)
    return [patch, command]


def _never(_arguments: Arguments) -> Arguments:
    raise ValueError("it is only understood")


CODEX = Dialect(
    "codex",
    [
        *_commands("exec_command", "cmd", "timeout_ms", offered=True),
        *_commands("shell_command", "command", "timeout_ms"),
        *_commands("shell", "command", "timeout_ms"),
        *_commands("shell", "command", "timeout", read=_only_words_read),
        *_commands("container.exec", "cmd", "timeout"),
        Term(
            name="apply_patch",
            tool="apply_patch",
            keys=(Key("input", "patch", needed=True, description=_PATCH),),
            told=_patch_told,
            grammar=PATCH_GRAMMAR.strip(),
        ),
        Term(
            name="write_stdin",
            tool="shell_output",
            keys=(Key("session_id", "id", needed=True),),
            also=(Key("chars", "typed"),),
            ignored=_UNHEEDED,
            read=_input_read,
            say=_never,
            offered=False,
        ),
        Term(
            name="view_image",
            tool="read_file",
            keys=(Key("path", needed=True),),
            ignored=("detail",),
            say=_never,
            offered=False,
        ),
        Term(name="update_plan", tool="todo", keys=(shapes.plan("plan", "step"),), ignored=("explanation",)),
        Term(
            name="request_user_input",
            tool="ask_user",
            keys=(shapes.QUESTIONS,),
            read=shapes.question_read,
            say=shapes.question_said,
        ),
    ],
    covered={
        **covering(("edit_file", "write_file"), "apply_patch"),
        **covering(("list_dir", "glob", "grep", "git", "execute_code"), "shell"),
    },
)
