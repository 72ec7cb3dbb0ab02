"""A forge without a network: `gh` as a script over a folder and a bare repository, strict about what real `gh` takes.

The flags and the `--json` fields are those of gh 2.23; what it prints has their forms."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PULL = "https://forge.test/ada/house/pull/1"
ISSUE = "https://forge.test/ada/house/issues/7"
FIELDS = {
    "pr": {"number", "url", "state", "comments", "reviews", "statusCheckRollup", "headRefOid"},
    "issue": {"number", "title", "body", "url", "author", "assignees"},
}
SCRIPT = """#!{python}
import json, os, subprocess, sys
from pathlib import Path

state = Path({state!r})
known = json.loads(state.read_text())
words = sys.argv[1:]
FLAGS = {{
    "pr list": {{"--head", "--state", "--json"}},
    "pr create": {{"--title", "--body", "--head", "--base"}},
    "pr view": {{"--json"}},
    "pr comment": {{"--body"}},
    "run view": {{"--job", "--repo"}},
    "issue list": {{"--state", "--limit", "--json"}},
    "api": {{"--hostname"}},
}}
kind = words[0] if words[0] == "api" else " ".join(words[:2])
rest, given, named = words[1 if kind == "api" else 2:], {{}}, []
while rest:
    word = rest.pop(0)
    if word in FLAGS[kind]:
        given[word] = rest.pop(0)
    elif word in ("--paginate", "--draft", "--log-failed"):
        given[word] = ""
    elif word.startswith("-"):
        sys.exit(f"unknown flag: {{word}}")
    else:
        named.append(word)
fields = given.get("--json", "").split(",") if "--json" in given else []
unknown = set(fields) - set({fields!r}.get(kind.split()[0], ()))
if unknown:
    sys.exit(f"Unknown JSON field: {{unknown}}")


def keep():
    new = state.with_suffix(".own")
    new.write_text(json.dumps(known))
    os.replace(new, state)


def head():
    ran = subprocess.run(
        ["git", "--git-dir", known["bare"], "rev-parse", known["request"]["head"]], capture_output=True, text=True
    )
    return ran.stdout.strip()


def shown(facts):
    print(json.dumps({{name: facts[name] for name in fields}} if isinstance(facts, dict) else facts))


request = known["request"]
if kind == "pr list":
    print(json.dumps([{{"number": 1, "url": {pull!r}}}] if request and request["head"] == given["--head"] else []))
elif kind == "pr create":
    if request:
        sys.exit("a pull request for this branch already exists")
    known["request"] = {{name.lstrip("-"): value for name, value in given.items()}}
    if not head():
        sys.exit("Head sha can't be blank")
    keep()
    print("Creating pull request", file=sys.stderr)
    print({pull!r})
elif kind == "pr view":
    assert named == [{pull!r}], named
    checks = [check for check in known["checks"] if check.pop("of", "") in ("", head())]
    shown({{"state": known["state"], "comments": known["comments"], "reviews": known["reviews"],
           "statusCheckRollup": checks, "headRefOid": head()}})
elif kind == "pr comment":
    known["comments"].append({{"id": f"IC_{{len(known['comments'])}}", "author": {{"login": "ada"}},
                              "authorAssociation": "OWNER", "body": given["--body"]}})
    keep()
    print({pull!r} + "#issuecomment-1")
elif kind == "api":
    assert given["--hostname"] == "forge.test" and named == ["repos/ada/house/pulls/1/comments?per_page=100"], words
    print(json.dumps(known["lines"][:1]) + json.dumps(known["lines"][1:]))
elif kind == "run view":
    print(f"test\\tUNKNOWN STEP\\tassert greeting, job {{given['--job']}} of {{given['--repo']}}")
elif kind == "issue list":
    print(json.dumps([{{name: issue[name] for name in fields}} for issue in known["issues"]]))
else:
    sys.exit("unknown command")
"""


class Forge:
    def __init__(self, root: Path) -> None:
        self.bare, self.programs, self._state = root / "far.git", root / "programs", root / "forge.json"
        self.programs.mkdir()
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(self.bare)], check=True)
        self._state.write_text(
            json.dumps(
                {
                    "asked": [],
                    "request": None,
                    "state": "OPEN",
                    "bare": str(self.bare),
                    "comments": [],
                    "reviews": [],
                    "lines": [],
                    "checks": [],
                    "issues": [],
                }
            )
        )
        program = self.programs / "gh"
        program.write_text(SCRIPT.format(python=sys.executable, state=str(self._state), pull=PULL, fields=FIELDS))
        program.chmod(0o755)

    @property
    def known(self) -> dict[str, Any]:
        return json.loads(self._state.read_text())

    def tell(self, **news: Any) -> None:
        """Written whole: the program reads it at any moment."""
        new = self._state.with_suffix(".new")
        new.write_text(json.dumps({**self.known, **news}))
        os.replace(new, self._state)

    def git(self, *words: str) -> str:
        author = ["-c", "user.name=Eve", "-c", "user.email=eve@example.org"]
        ran = subprocess.run(["git", *author, "-C", str(self.bare), *words], check=True, capture_output=True, text=True)
        return ran.stdout.strip()

    def merge(self) -> None:
        """As the forge does it when somebody presses the button."""
        head = self.known["request"]["head"]
        tree = self.git("merge-tree", "--write-tree", "main", head)
        merged = self.git("commit-tree", tree, "-p", "main", "-p", head, "-m", "Merge pull request #1")
        self.git("update-ref", "refs/heads/main", merged)
        self.tell(state="MERGED")
