"""Claude Code's tools, for Claude. It has had Glob, Grep, LS, MultiEdit and TodoWrite for most of its life."""

from openagent.dialects import shapes
from openagent.dialects.dialect import Dialect, covering
from openagent.dialects.shapes import FLAG, LEAVING, TEXT, WHOLE
from openagent.dialects.term import Arguments, Key, Term
from openagent.protocol.messages import ToolResultPart

_MODES = {"content": "lines", "files_with_matches": "files", "count": "count"}
_MODE_NAMES = {ours: theirs for theirs, ours in _MODES.items()}
_ENDINGS = {
    "js": "*.{js,jsx,mjs,cjs,vue}",
    "ts": "*.{ts,tsx,mts,cts}",
    "py": "*.{py,pyi}",
    "rust": "*.rs",
    "md": "*.md",
}
_PATH = Key("file_path", "path", needed=True)
_EDITS = (Key("old_string", "old", needed=True), Key("new_string", "new", needed=True), Key("replace_all", "all"))


def _grep_read(arguments: Arguments) -> Arguments:
    arguments.setdefault("mode", "files")
    kind = arguments.pop("type", None)
    if kind and not arguments.get("glob"):
        arguments["glob"] = _ENDINGS.get(kind, f"*.{kind}")
    around = [arguments.pop(name, None) or 0 for name in ("after", "before")]
    if any(around):
        arguments["around"] = max(arguments.get("around") or 0, *around)
    return arguments


def _grep_said(arguments: Arguments) -> Arguments:
    mode = arguments.pop("mode", "lines")
    return arguments if mode == "files" else {**arguments, "mode": mode}


def _edits_read(arguments: Arguments) -> Arguments:
    named = {key.name: key.tool_key for key in _EDITS}
    arguments["edits"] = [{named[name]: value for name, value in edit.items()} for edit in arguments["edits"]]
    return arguments


def _edits_said(arguments: Arguments) -> Arguments:
    named = {key.tool_key: key.name for key in _EDITS}
    arguments["edits"] = [{named[name]: value for name, value in edit.items()} for edit in arguments["edits"]]
    return arguments


def _killing(arguments: Arguments) -> Arguments:
    return {**arguments, "action": "kill"}


def _killed(arguments: Arguments) -> Arguments:
    if arguments.pop("action", "read") != "kill":
        raise ValueError("it only looks")
    return arguments


def _command_told(result: ToolResultPart) -> str:
    code = result.display.exit_code
    return f"Exit code {code}\n{shapes.without_exit_code(result)}" if code else result.text


CLAUDE_CODE = Dialect(
    "claude-code",
    [
        Term(
            name="Read",
            tool="read_file",
            keys=(_PATH, Key("offset", "start"), Key("limit", "lines", description="How many lines.")),
        ),
        Term(name="Write", tool="write_file", keys=(_PATH, Key("content", needed=True))),
        Term(name="Edit", tool="edit_file", keys=(_PATH, *_EDITS)),
        Term(
            name="MultiEdit",
            tool="edit_file",
            keys=(_PATH, Key("edits", needed=True)),
            read=_edits_read,
            say=_edits_said,
            offered=False,
        ),
        Term(name="LS", tool="list_dir", keys=(Key("path"),), ignored=("ignore",), offered=False),
        Term(name="Glob", tool="glob", keys=(Key("pattern", needed=True), Key("path"))),
        Term(
            name="Grep",
            tool="grep",
            keys=(
                Key("pattern", needed=True),
                Key("path"),
                Key("glob"),
                Key(
                    "output_mode",
                    "mode",
                    schema={**TEXT, "enum": list(_MODES), "default": "files_with_matches"},
                    read=_MODES.__getitem__,
                    say=_MODE_NAMES.__getitem__,
                ),
                Key("-i", "ignore_case", schema={**FLAG, "description": "Upper and lower case alike."}),
                Key("-C", "around", schema={**WHOLE, "description": "Lines of context."}),
            ),
            also=(Key("type"), Key("-A", "after"), Key("-B", "before"), Key("context", "around")),
            ignored=("-n", "head_limit", "offset"),
            read=_grep_read,
            say=_grep_said,
            usual={"mode": "lines"},
        ),
        Term(
            name="Bash",
            tool="shell",
            keys=(Key("command", needed=True), shapes.milliseconds("timeout"), *LEAVING),
            ignored=("description", "run_in_background", "dangerouslyDisableSandbox"),
            told=_command_told,
        ),
        Term(name="BashOutput", tool="shell_output", keys=(Key("bash_id", "id", needed=True),), offered=False),
        Term(
            name="TaskOutput",
            tool="shell_output",
            keys=(Key("task_id", "id", needed=True),),
            ignored=("block", "timeout"),
            offered=False,
        ),
        *(
            Term(
                name=name,
                tool="shell_output",
                keys=(Key(key, "id", needed=True),),
                read=_killing,
                say=_killed,
                offered=False,
            )
            for name, key in (("KillShell", "shell_id"), ("TaskStop", "task_id"))
        ),
        Term(name="WebFetch", tool="web_fetch", keys=(Key("url", needed=True), Key("raw")), ignored=("prompt",)),
        Term(name="WebSearch", tool="web_search", keys=(Key("query", needed=True), Key("count"))),
        Term(
            name="AskUserQuestion",
            tool="ask_user",
            keys=(shapes.QUESTIONS,),
            read=shapes.question_read,
            say=shapes.question_said,
        ),
        Term(name="TodoWrite", tool="todo", keys=(shapes.plan("todos", "content"),)),
        Term(name="Skill", tool="skill", keys=(Key("skill", "name", needed=True),), ignored=("args",)),
        Term(name="Skill", tool="skill", keys=(Key("command", "name", needed=True),), offered=False),
        *(
            Term(
                name=name,
                tool="agent",
                keys=(Key("prompt", "task", needed=True),),
                also=(Key("subagent_type", "kind"), Key("run_in_background", "background")),
                ignored=("description", "model", "isolation"),
                read=shapes.task_read,
                offered=False,
            )
            for name in ("Task", "Agent")
        ),
    ],
    covered={
        **covering(("apply_patch",), "edit_file", "write_file"),
        **covering(("list_dir", "git", "execute_code"), "shell"),
    },
)
