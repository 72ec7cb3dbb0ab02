"""opencode's tools, which open models meet most often."""

from openagent.dialects import shapes
from openagent.dialects.dialect import Dialect, covering
from openagent.dialects.shapes import LEAVING
from openagent.dialects.term import Arguments, Key, Term

_PATH = Key("filePath", "path", needed=True)


def _form_read(arguments: Arguments) -> Arguments:
    raw = arguments.pop("format", "markdown") == "html"
    return {**arguments, "raw": True} if raw else arguments


def _form_said(arguments: Arguments) -> Arguments:
    return {**arguments, "format": "html"} if arguments.pop("raw", False) else arguments


OPENCODE = Dialect(
    "opencode",
    [
        Term(
            name="read",
            tool="read_file",
            keys=(_PATH, Key("offset", "start"), Key("limit", "lines", description="How many lines.")),
            told=shapes.numbered(r"\1: "),
        ),
        Term(name="write", tool="write_file", keys=(_PATH, Key("content", needed=True))),
        Term(
            name="edit",
            tool="edit_file",
            keys=(
                _PATH,
                Key("oldString", "old", needed=True),
                Key("newString", "new", needed=True),
                Key("replaceAll", "all"),
            ),
        ),
        Term(name="patch", tool="apply_patch", keys=(Key("patchText", "patch", needed=True),), offered=False),
        Term(name="list", tool="list_dir", keys=(Key("path"),), ignored=("ignore",), offered=False),
        Term(name="glob", tool="glob", keys=(Key("pattern", needed=True), Key("path"))),
        Term(name="grep", tool="grep", keys=(Key("pattern", needed=True), Key("path"), Key("include", "glob"))),
        Term(
            name="bash",
            tool="shell",
            keys=(Key("command", needed=True), shapes.milliseconds("timeout"), shapes.folder("workdir"), *LEAVING),
            ignored=("description",),
            read=shapes.into_folder,
            say=shapes.out_of_folder,
        ),
        Term(
            name="webfetch",
            tool="web_fetch",
            keys=(
                Key("url", needed=True),
                Key("format", schema={"type": "string", "enum": ["markdown", "html"], "default": "markdown"}),
            ),
            ignored=("timeout",),
            read=_form_read,
            say=_form_said,
        ),
        Term(name="websearch", tool="web_search", keys=(Key("query", needed=True), Key("count"))),
        Term(name="todowrite", tool="todo", keys=(shapes.plan("todos", "content"),)),
        Term(
            name="question",
            tool="ask_user",
            keys=(shapes.QUESTIONS,),
            read=shapes.question_read,
            say=shapes.question_said,
        ),
        Term(
            name="task",
            tool="agent",
            keys=(Key("prompt", "task", needed=True),),
            also=(Key("subagent_type", "kind"),),
            ignored=("description", "task_id", "command"),
            read=shapes.task_read,
            offered=False,
        ),
    ],
    covered={
        **covering(("apply_patch",), "edit_file", "write_file"),
        **covering(("list_dir", "git", "execute_code"), "shell"),
    },
)
