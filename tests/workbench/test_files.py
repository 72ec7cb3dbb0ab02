"""A person's own look at a workspace's files: beneath it, under its rules, and never over somebody else's change."""

import base64
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from openagent.client import Client
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.files import (
    FileContent,
    FileEntries,
    FilesList,
    FilesRead,
    FilesWrite,
    FileWritten,
    FoldersList,
)

from ..interaction.house import House, house, new_session

pytestmark = pytest.mark.anyio


async def listed(client: Client, session: str, path: str = ".") -> FileEntries:
    return await client.request(FilesList(id=client.next_id(), session=session, path=path))


async def read(client: Client, session: str, path: str) -> FileContent:
    return await client.request(FilesRead(id=client.next_id(), session=session, path=path))


async def write(client: Client, session: str, path: str, text: str, version: str | None = None) -> FileWritten:
    op = FilesWrite(id=client.next_id(), session=session, path=path, text=text, version=version)
    return await client.request(op)


async def test_files_are_listed_read_and_written_beneath_the_workspace(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        (h.workspace / "src").mkdir()
        (h.workspace / "a.txt").write_text("one\n")
        (h.workspace / "picture").write_bytes(b"\x89PNG\0\xff")
        (h.workspace / "out").symlink_to("/etc")
        session = await new_session(h, client)
        entries = (await listed(client, session)).entries
        assert [(each.name, each.kind) for each in entries] == [
            ("src", "directory"),
            ("a.txt", "file"),
            ("out", "link"),
            ("picture", "file"),
        ]
        found = await read(client, session, "a.txt")
        assert (found.text, found.size) == ("one\n", 4)
        assert (await read(client, session, "picture")).binary
        written = await write(client, session, "src/new/b.py", "x = 1\n")
        assert (h.workspace / "src/new/b.py").read_text() == "x = 1\n"
        assert (await read(client, session, "src/new/b.py")).version == written.version


async def test_all_files_below_are_listed_without_what_is_ignored_or_the_daemons_own(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        for path in ("src/a.py", "src/deep/b.py", "srcs/c.py", "node_modules/x/y.js", "d.log", ".env"):
            (h.workspace / path).parent.mkdir(parents=True, exist_ok=True)
            (h.workspace / path).write_text("x")
        (h.workspace / ".gitignore").write_text("*.log\n")
        (h.workspace / "out").symlink_to("/etc")
        session = await new_session(h, client)

        async def below(path: str, session: str = session) -> list[str]:
            op = FilesList(id=client.next_id(), session=session, path=path, below=True)
            return [each.path for each in (await client.request(op)).entries]

        assert await below(".") == [".gitignore", "src/a.py", "src/deep/b.py", "srcs/c.py"]
        assert await below("src") == ["src/a.py", "src/deep/b.py"]
        with pytest.raises(OpenAgentError):
            await below("out")
        around = (await client.create_session(str(h.home.parent))).id
        assert not [path for path in await below(".", around) if path.startswith(f"{h.home.name}/")]


async def test_letters_in_their_order_find_files_below(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        for path in ("src/FilesTab.tsx", "src/files/tree.tsx", "lib/tabs.ts"):
            (h.workspace / path).parent.mkdir(parents=True, exist_ok=True)
            (h.workspace / path).write_text("x")
        session = await new_session(h, client)
        op = FilesList(id=client.next_id(), session=session, query="fiTab")
        assert [each.path for each in (await client.request(op)).entries] == ["src/FilesTab.tsx"]


async def test_git_tells_what_changed_since_the_last_commit(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        session = await new_session(h, client)

        async def changed(path: str = ".") -> list[tuple[str, str]]:
            op = FilesList(id=client.next_id(), session=session, path=path, changed=True)
            return [(each.path, each.mark) for each in (await client.request(op)).entries]

        (h.workspace / "src").mkdir()
        assert await changed() == []  # no repository
        for path in ("a.txt", "b.txt", "src/same.txt", "src/c d.txt"):
            (h.workspace / path).write_text("one\n")
        commit = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
        for command in (("git", "init", "-q"), ("git", "add", "-A"), commit):
            subprocess.run(command, cwd=h.workspace, check=True)
        assert await changed() == []
        (h.workspace / "a.txt").write_text("two\n")
        (h.workspace / "b.txt").unlink()
        (h.workspace / "src/c d.txt").write_text("two\n")
        (h.workspace / "src/new.txt").write_text("new\n")
        below = [("src/c d.txt", "modified"), ("src/new.txt", "new")]
        assert await changed() == [("a.txt", "modified"), ("b.txt", "deleted"), *below]
        assert await changed("src") == below


async def test_a_picture_is_told_whole_when_asked_for(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        content = b"\x89PNG\r\n\x1a\n\0\xff"
        (h.workspace / "dot.png").write_bytes(content)
        (h.workspace / "data.png").write_bytes(b"\0\xff")
        session = await new_session(h, client)
        op = FilesRead(id=client.next_id(), session=session, path="dot.png", picture=True)
        shown = await client.request(op)
        assert (shown.media_type, base64.b64decode(shown.data)) == ("image/png", content)
        assert (await read(client, session, "dot.png")).data == ""
        other = await client.request(replace(op, id=client.next_id(), path="data.png"))
        assert (other.binary, other.media_type, other.data) == (True, "", "")


async def test_any_file_is_told_byte_by_byte_however_large_and_whether_it_changed_meanwhile(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        file, whole = h.workspace / "large.bin", bytes(range(256)) * 40_000
        file.write_bytes(whole)
        session = await new_session(h, client)

        async def piece(start: int) -> FileContent:
            op = FilesRead(id=client.next_id(), session=session, path="large.bin", start=start)
            return await client.request(op)

        got, versions = b"", set[str]()
        while len(got) < len(whole):
            found = await piece(len(got))
            assert found.size == len(whole)
            got += base64.b64decode(found.data)
            versions.add(found.version)
        assert got == whole
        assert len(versions) == 1
        assert (await piece(len(whole))).data == ""
        file.write_bytes(whole + b"more")
        assert (await piece(0)).version not in versions
        with pytest.raises(OpenAgentError):
            await piece(-1)


async def test_an_edit_of_an_older_version_is_refused(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        file = h.workspace / "a.txt"
        file.write_text("one")
        session = await new_session(h, client)
        version = (await read(client, session, "a.txt")).version
        file.write_text("two")
        with pytest.raises(OpenAgentError, match="not as it was"):
            await write(client, session, "a.txt", "three", version)
        with pytest.raises(OpenAgentError, match="not as it was"):
            await write(client, session, "gone.txt", "three", version)
        assert file.read_text() == "two"
        version = (await read(client, session, "a.txt")).version
        await write(client, session, "a.txt", "three", version)
        assert file.read_text() == "three"


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "out/passwd", "a\0b", "", "src"])
async def test_what_leads_out_or_is_no_file_is_refused_with_a_sentence(tmp_path: Path, path: str) -> None:
    (tmp_path / "outside").write_text("secret")
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        (h.workspace / "src").mkdir()
        (h.workspace / "out").symlink_to("/etc")
        session = await new_session(h, client)
        for attempt in (read(client, session, path), write(client, session, path, "x")):
            with pytest.raises(OpenAgentError) as refused:
                await attempt
            assert refused.value.info.code in ("tool_error", "invalid_argument", "permission_denied")
    assert (tmp_path / "outside").read_text() == "secret"


async def test_what_is_not_there_is_said_with_its_own_code(tmp_path: Path) -> None:
    """Clients offer another way on for it, and must not have to read the sentence."""
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        session = await new_session(h, client)
        for attempt in (read(client, session, "gone.txt"), listed(client, session, "gone")):
            with pytest.raises(OpenAgentError, match="does not exist") as refused:
                await attempt
            assert refused.value.info.code == "not_found"


async def test_the_daemons_own_files_are_not_shown_even_inside_a_workspace(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, await h.client() as client:
        session = (await client.create_session(str(tmp_path), model="compatible/x")).id
        assert "home" not in [each.name for each in (await listed(client, session)).entries]
        for path in ("home/token", "home/config.toml"):
            with pytest.raises(OpenAgentError):
                await read(client, session, path)
        (tmp_path / "way").symlink_to(h.home)
        for attempt in (read(client, session, "way/token"), listed(client, session, "way")):
            with pytest.raises(OpenAgentError):
                await attempt
        with pytest.raises(OpenAgentError):
            await write(client, session, "way/token", "mine")


async def token_client(h: House, *scopes: str) -> Client:
    from openagent.client import connect
    from openagent.protocol.tokens import TokensCreate

    async with await h.client() as owner:
        op = TokensCreate(id=owner.next_id(), name=" ".join(scopes), scopes=list(scopes), roots=[str(h.workspace)])  # type: ignore[arg-type]
        created = await owner.request(op)
    url = h.daemon.place.web_url.replace("http", "ws") + "/ws"
    return await connect(url=url, token=created.secret, env={}, interactive=True)


async def test_what_rules_would_ask_about_needs_somebody_who_may_approve(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, await h.client() as owner:
        (h.workspace / ".env").write_text("KEY=1")
        (h.workspace / "a.txt").write_text("one")
        session = await new_session(h, owner)
        async with await token_client(h, "chat") as chat, await token_client(h, "chat", "approve") as both:
            assert (await read(chat, session, "a.txt")).text == "one"
            with pytest.raises(OpenAgentError) as refused:
                await read(chat, session, ".env")
            assert refused.value.info.code == "permission_denied"
            assert (await read(both, session, ".env")).text == "KEY=1"
        async with await token_client(h, "read") as reader:
            with pytest.raises(OpenAgentError, match="lacks the scope chat"):
                await write(reader, session, "a.txt", "two")


async def test_folders_to_work_in_are_listed_with_what_is_a_repository(tmp_path: Path) -> None:
    async with house(tmp_path, []) as h, await h.client() as client:
        for name in ("beta/.git", "Alpha", ".hidden"):
            (h.workspace / name).mkdir(parents=True)
        (h.workspace / "file").write_text("")
        found = await client.request(FoldersList(id=client.next_id(), cwd=str(h.workspace)))
        assert [(each.name, each.repository) for each in found.folders] == [("Alpha", False), ("beta", True)]
        assert (found.path, found.parent) == (str(h.workspace), str(h.workspace.parent))
        assert (await client.request(FoldersList(id=client.next_id()))).path == found.home
        for wrong, said in ((str(h.workspace / "file"), "is a file"), ("/no/such/place", "There is no folder")):
            with pytest.raises(OpenAgentError, match=said):
                await client.request(FoldersList(id=client.next_id(), cwd=wrong))
