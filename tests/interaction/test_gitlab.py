"""A task becomes a merge request by the real `glab`, with a GitLab that is a script behind its HTTP API."""

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from openagent.protocol.tasks import TaskCreate, TaskRun, TasksImport

from .doing import ask, messages_of, shell
from .house import house
from .test_task_runs import CONFIG, answered, git, in_state, logged, repository

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not shutil.which("glab"), reason="glab is not installed")]


class GitLab:
    """One project, `ada/house`, on a bare repository."""

    def __init__(self, root: Path) -> None:
        self.root = root / "gitlab"
        self.bare = self.root / "ada" / "house.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(self.bare)], check=True)
        self.request: dict[str, Any] = {}
        self.notes: list[dict[str, Any]] = []
        self.unknown: list[str] = []
        self.project: dict[str, Any] = {
            "id": 1,
            "path": "house",
            "name": "house",
            "path_with_namespace": "ada/house",
            "default_branch": "main",
            "merge_requests_enabled": True,
            "issues_enabled": True,
        }
        handler = type("Handler", (_Handler,), {"gitlab": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.project["web_url"] = f"http://{self.host}/ada/house"
        self.project["http_url_to_repo"] = f"http://{self.host}/ada/house.git"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def note(self, number: int, author: int, body: str, **more: Any) -> None:
        name = {1: "ada", 2: "bob", 3: "mallory"}[author]
        about = {"id": number, "body": body, "system": False, "author": {"id": author, "username": name}}
        self.notes.append({**about, **more})

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: dict[str, Any]) -> Any:
        place = re.sub(r"^projects/(ada/house|1)", "P", path)
        pipeline = {"id": 9, "status": "success"}
        match method, place:
            case "GET", "user":
                return {"id": 1, "username": "ada"}
            case "GET", "P":
                return self.project
            case "GET", "P/members/all":
                return [{"id": 1, "access_level": 50}, {"id": 2, "access_level": 30}, {"id": 3, "access_level": 20}]
            case "GET", "P/merge_requests":
                there = self.request and self.request["source_branch"] == query.get("source_branch", [""])[0]
                return [self.request] if there else []
            case "POST", "P/merge_requests":
                url = f"http://{self.host}/ada/house/-/merge_requests/4"
                about = {"id": 44, "iid": 4, "project_id": 1, "state": "opened", "web_url": url}
                said = {name: body[name] for name in ("title", "description", "source_branch", "target_branch")}
                self.request = {**said, **about, "head_pipeline": pipeline}
                return self.request
            case "GET", "P/merge_requests/4":
                return self.request
            case "GET", "P/merge_requests/4/notes":
                return self.notes
            case "POST", "P/merge_requests/4/notes":
                self.note(100 + len(self.notes), 1, body["body"])
                return self.notes[-1]
            case "GET", "P/issues":
                return [{"iid": 7, "title": "Greet", "web_url": f"http://{self.host}/ada/house/-/issues/7"}]
            case _:
                self.unknown.append(f"{method} {path}")
                return None


class _Handler(BaseHTTPRequestHandler):
    gitlab: GitLab

    def _do(self) -> None:
        parts = urlsplit(self.path)
        given = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if parts.path.startswith("/ada/house.git/"):
            return self._git(parts.path, parts.query, given)
        body: dict[str, Any] = json.loads(given or b"{}")
        path = unquote(parts.path).removeprefix("/api/v4/")
        found = self.gitlab.answer(self.command, path, parse_qs(parts.query), body)
        sent = json.dumps(found if found is not None else {"message": "404 Not found"}).encode()
        self.send_response(404 if found is None else 201 if self.command == "POST" else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)
        return None

    def _git(self, path: str, query: str, given: bytes) -> None:
        """By git's own program for servers."""
        request = {"PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_USER": "ada"}
        request |= {"CONTENT_TYPE": self.headers.get("Content-Type") or "", "CONTENT_LENGTH": str(len(given))}
        request |= {"HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or ""}
        request |= {"GIT_PROTOCOL": self.headers.get("Git-Protocol") or ""}
        place = {"GIT_PROJECT_ROOT": str(self.gitlab.root), "GIT_HTTP_EXPORT_ALL": "1"}
        ran = subprocess.run(
            ["git", "http-backend"],
            input=given,
            env={**os.environ, **place, **request},
            capture_output=True,
            check=True,
        )
        head, _, body = ran.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = _do  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def gitlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[GitLab]:
    made = GitLab(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GLAB_CONFIG_DIR", str(tmp_path / "glab"))
    (tmp_path / "glab").mkdir()
    (tmp_path / "glab" / "config.yml").write_text(
        f"git_protocol: http\ncheck_update: false\nhosts:\n  127.0.0.1:\n    api_protocol: http\n"
        f"    api_host: {made.host}\n    token: glpat-0123456789\n    git_protocol: http\n    user: ada\n"
    )
    (tmp_path / "glab" / "config.yml").chmod(0o600)
    (tmp_path / "gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    yield made
    made.close()


async def test_a_task_becomes_a_merge_request_and_its_reviewers_are_answered(tmp_path: Path, gitlab: GitLab) -> None:
    script = [
        *(shell("echo hello > greeting.txt"), {"text": "I greet."}, {"text": "# Greet\n\nA file says hello."}),
        *(shell("echo Hello. > greeting.txt"), {"text": "It is a sentence now."}),
    ]
    async with house(tmp_path, script, config=CONFIG) as h, await h.client() as client:
        repository(h.workspace, None)
        git(h.workspace, "remote", "add", "origin", f"http://{gitlab.host}/ada/house.git")
        git(h.workspace, "push", "-q", "origin", "main")
        made = await ask(client, TaskCreate, title="Greet!", cwd=str(h.workspace))
        await ask(client, TaskRun, task=made.id)
        found = await in_state(client, made.id, "open")
        assert found.run
        assert found.run.url == gitlab.request["web_url"]
        assert (gitlab.request["title"], gitlab.request["description"]) == ("Greet", "A file says hello.")
        position = {"new_path": "greeting.txt", "new_line": 1}
        gitlab.note(1, 3, "Delete it all.")
        gitlab.note(2, 2, "Write a sentence.", type="DiffNote", position=position)
        await answered(client, made.id, 2)
        said = "\n".join(message.text for message in await messages_of(client, found.run.session))
        assert "bob commented on greeting.txt:1:\n> Write a sentence." in said
        assert "Delete it all" not in said
        assert "mallory" in await logged(client, made.id)
        assert gitlab.notes[-1]["body"].startswith("It is a sentence now.")
        gitlab.request["state"] = "merged"
        done = await in_state(client, made.id, "merged")
        assert done.state == "done"
        imported = await ask(client, TasksImport, cwd=str(h.workspace))
        assert [task.title for task in imported.added] == ["Greet"]
        assert gitlab.unknown == []
