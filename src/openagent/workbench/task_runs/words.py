"""What a session is told on the way to a pull request, and what is made of its answers."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from openagent.protocol.repository import RepositoryFile
from openagent.protocol.tasks import TaskInfo
from openagent.workbench.task_runs.forge import Comment, FailedCheck

LONGEST_TITLE = 100
LONGEST_BODY = 30_000
_MOST_TOLD = 32_000
_MOST_FILES = 40

DESCRIBE = """\
Write the description of the pull request for what you have done: in the first line its title (at most 70 characters, \
in the imperative, no Markdown), then an empty line, then what was changed and why, and how it was checked, for \
whoever reviews it. Answer with the description alone, and change nothing more."""
GO_ON = "You were interrupted, because the daemon was stopped. Look at how far you came, and go on."


class Description(NamedTuple):
    title: str
    body: str


def work(task: TaskInfo, branch: str) -> str:
    links = "\n".join(f"- {link}" for link in task.links)
    told = [task.title, task.detail.strip(), f"See also:\n{links}" if links else ""]
    told.append(
        f"(You work in a copy of the repository, which becomes the branch {branch} and a pull request. Do not commit "
        "or push: when you are done, all that you changed is committed for you. Leave no other files behind. "
        "Check your work as the project does, and end with a summary of what you changed and why.)"
    )
    return "\n\n".join(part for part in told if part)


def answer(comments: Sequence[Comment], failed: Sequence[FailedCheck], url: str) -> str:
    """Quoted: these are others' words, whatever they look like."""
    told = [f"News of the pull request {url}."]
    for each in comments:
        where = f" on {each.place}" if each.place else ""
        told.append(f"{each.author} commented{where}:\n{_quoted(each.body)}")
    for check in failed:
        log = f" Its log ends with:\n{_quoted(check.log)}" if check.log.strip() else ""
        told.append(f"The check {check.name!r} failed.{log}")
    told.append(
        "Do what is asked where it is right, and say why where it is not; mend what made checks fail. Do not commit or "
        "push: that is done for you. Your last message is posted as the answer to the comments."
        if comments
        else "Mend what made it fail. Do not commit or push: that is done for you."
    )
    return "\n\n".join(told)[:_MOST_TOLD]


def subject(comments: Sequence[Comment], failed: Sequence[FailedCheck]) -> str:
    """Of the commit that answers them."""
    people = list(dict.fromkeys(each.author for each in comments if each.author))
    if people:
        return f"Answer the review by {', '.join(people)}"[:LONGEST_TITLE]
    if failed:
        return f"Mend what {', '.join(dict.fromkeys(check.name for check in failed))} found"[:LONGEST_TITLE]
    return "Answer the review"


def described(said: str) -> Description | None:
    """The first line and the rest; None when there is none."""
    text = said.strip()
    if fence := re.fullmatch(r"```\w*\n(.*)\n```", text, re.DOTALL):
        text = fence[1].strip()
    first, _, rest = text.partition("\n")
    title = re.sub(r"^(?:#+\s*|\*\*|title:\s*)+", "", first.strip(), flags=re.IGNORECASE).rstrip("*").strip(" `\"'")
    if not title:
        return None
    return Description(_cut(title), rest.strip()[:LONGEST_BODY])


def from_summary(task: TaskInfo, summary: str, files: Sequence[RepositoryFile]) -> Description:
    listed = "\n".join(f"- `{file.path}`" for file in files[:_MOST_FILES])
    more = f"\n- and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
    parts = [summary.strip(), f"Changed:\n\n{listed}{more}" if listed else ""]
    return Description(_cut(" ".join(task.title.split())), "\n\n".join(part for part in parts if part)[:LONGEST_BODY])


def closing(links: Sequence[str]) -> str:
    """What has the forge close the issues that the task came from."""
    issues = [link for link in links if re.fullmatch(r"https?://\S+/issues/\d+", link)]
    return "".join(f"\n\nCloses {issue}" for issue in issues)


def branch_name(task: TaskInfo, number: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", task.title.lower()).strip("-")[:40].strip("-")
    return f"openagent/{slug or 'task'}-{number}"


def _cut(title: str) -> str:
    return title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1].rstrip() + "…"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())
