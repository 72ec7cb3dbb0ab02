"""gemini-cli's tools, for Gemini."""

from openagent.dialects import shapes
from openagent.dialects.dialect import Dialect, covering
from openagent.dialects.shapes import FLAG, LEAVING, TEXT, WHOLE
from openagent.dialects.term import Arguments, Key, Term
from openagent.protocol.messages import ToolResultPart

_PATH = Key("file_path", "path", needed=True)
_FOLDER = Key("dir_path", "path")
_FILTERS = ("respect_git_ignore", "respect_gemini_ignore", "file_filtering_options", "wait_for_previous")


def _grep_read(arguments: Arguments) -> Arguments:
    """Case does not count there unless it is said to."""
    arguments["ignore_case"] = not arguments.pop("case_sensitive", False)
    if arguments.pop("names_only", False):
        arguments["mode"] = "files"
    around = [arguments.pop(name, None) or 0 for name in ("after", "before")]
    if any(around):
        arguments["around"] = max(arguments.get("around") or 0, *around)
    return arguments


def _grep_said(arguments: Arguments) -> Arguments:
    mode = arguments.pop("mode", "lines")
    if mode == "count":
        raise ValueError("there is no such thing there")
    if not arguments.pop("ignore_case", False):
        arguments["case_sensitive"] = True
    return {**arguments, "names_only": True} if mode == "files" else arguments


def _command_told(result: ToolResultPart) -> str:
    code = result.display.exit_code
    if code is None:
        return result.text
    failed = f"\nExit Code: {code}" if code else ""
    return f"Output: {shapes.without_exit_code(result)}{failed}"


def _url_read(arguments: Arguments) -> Arguments:
    """They name the address somewhere in a sentence."""
    words = [word.strip("<>()[]\"'`,.;") for word in arguments["prompt"].split()]
    return {"url": next(word for word in words if word.startswith(("http://", "https://")))}


def _url_said(_arguments: Arguments) -> Arguments:
    raise ValueError("it is only understood")


GEMINI = Dialect(
    "gemini",
    [
        Term(
            name="read_file",
            tool="read_file",
            keys=(
                _PATH,
                Key("start_line", "start"),
                Key("end_line", "last", schema={**WHOLE, "description": "Last line."}),
            ),
            read=shapes.range_read,
            say=shapes.range_said,
            usual={"start": 1},
            told=shapes.numbered(""),
            description="Read a text file, or an image.",
        ),
        Term(name="write_file", tool="write_file", keys=(_PATH, Key("content", needed=True))),
        Term(
            name="replace",
            tool="edit_file",
            keys=(
                _PATH,
                Key("old_string", "old", needed=True),
                Key("new_string", "new", needed=True),
                Key("allow_multiple", "all"),
            ),
            ignored=("instruction", "expected_replacements"),
        ),
        Term(name="list_directory", tool="list_dir", keys=(_FOLDER,), ignored=("ignore", *_FILTERS)),
        Term(
            name="glob",
            tool="glob",
            keys=(Key("pattern", needed=True), _FOLDER),
            ignored=("case_sensitive", *_FILTERS),
        ),
        *(
            Term(
                name=name,
                tool="grep",
                keys=(
                    Key("pattern", needed=True),
                    _FOLDER,
                    Key("include_pattern", "glob"),
                    Key("names_only", schema={**FLAG, "description": "Just the files."}),
                    Key("case_sensitive", schema={**FLAG, "default": False}),
                    Key("context", "around"),
                ),
                also=(Key("include", "glob"), Key("path"), Key("after"), Key("before")),
                ignored=("no_ignore", "max_matches_per_file", "total_max_matches", "wait_for_previous"),
                read=_grep_read,
                say=_grep_said,
                usual={"mode": "lines"},
                offered=name == "grep_search",
            )
            for name in ("grep_search", "search_file_content")
        ),
        Term(
            name="run_shell_command",
            tool="shell",
            keys=(Key("command", needed=True), shapes.folder("dir_path"), Key("timeout"), *LEAVING),
            ignored=("description", "is_background", "delay_ms", "wait_for_previous"),
            read=shapes.into_folder,
            say=shapes.out_of_folder,
            told=_command_told,
        ),
        Term(
            name="web_fetch",
            tool="web_fetch",
            keys=(Key("prompt", needed=True, schema=TEXT),),
            read=_url_read,
            say=_url_said,
            offered=False,
        ),
        Term(name="google_web_search", tool="web_search", keys=(Key("query", needed=True), Key("count"))),
        Term(name="write_todos", tool="todo", keys=(shapes.plan("todos", "description"),)),
        Term(name="activate_skill", tool="skill", keys=(Key("name", needed=True),)),
    ],
    covered={
        **covering(("apply_patch",), "edit_file", "write_file"),
        **covering(("git", "execute_code"), "shell"),
    },
)
