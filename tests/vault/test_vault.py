import base64
import copy
import json
import multiprocessing
import os
import pickle
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openagent.protocol.errors import OpenAgentError
from openagent.vault.entries import ApiKey, OAuthTokens
from openagent.vault.master import FileKeys, KeyringKeys
from openagent.vault.secret import Secret
from openagent.vault.vault import Vault

KEY = "sk-test-4f8a0c1d2e3b"
printable = st.text(st.characters(codec="utf-8").filter(str.isprintable), min_size=1, max_size=40)
TOKENS = OAuthTokens(
    access=Secret("access-value-1"),
    refresh=Secret("refresh-value-1"),
    expires_at=1_900_000_000.0,
    scopes=("chat", "models"),
    endpoints={"token": "https://login.example/token"},
)


class FakeKeyring:
    def __init__(self) -> None:
        self.passwords: dict[tuple[str, str], str] = {}
        self.locked = False

    def _check(self) -> None:
        if self.locked:
            raise RuntimeError("the collection is locked")

    def get_password(self, service: str, username: str, /) -> str | None:
        self._check()
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str, /) -> None:
        self._check()
        self.passwords[service, username] = password


class NullKeyring(FakeKeyring):
    def set_password(self, service: str, username: str, password: str, /) -> None:
        pass


def open_vault(home: Path) -> Vault:
    return Vault(home, key_sources=[FileKeys(home)])


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    vault = open_vault(tmp_path)
    vault.add("anthropic", ApiKey(Secret(KEY)), {"provider": "anthropic"})
    return vault


def stored(home: Path) -> Any:
    return json.loads((home / "vault.json").read_bytes())


def rewrite(home: Path, content: Any) -> None:
    (home / "vault.json").write_text(json.dumps(content))


def refusal(action: Any) -> str:
    with pytest.raises(OpenAgentError) as caught:
        action()
    assert caught.value.info.hint
    assert KEY not in str(caught.value)
    return str(caught.value)


def revealed(credential: Any) -> str:
    assert isinstance(credential, ApiKey)
    return credential.key.reveal()


def test_a_key_comes_back_from_a_vault_opened_anew(vault: Vault, tmp_path: Path) -> None:
    assert revealed(open_vault(tmp_path).get("anthropic")) == KEY


def test_oauth_tokens_come_back_whole(vault: Vault, tmp_path: Path) -> None:
    vault.add("login", TOKENS)
    assert open_vault(tmp_path).get("login") == TOKENS


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=printable, value=st.text(st.characters(codec="utf-8"), max_size=200))
def test_any_printable_name_and_any_value_come_back(name: str, value: str, tmp_path: Path) -> None:
    vault = open_vault(tmp_path)
    vault.add(name, ApiKey(Secret(value)), replace=True)
    assert revealed(vault.get(name)) == value


@pytest.mark.parametrize("name", ["", "two\nlines", "x" * 129])
def test_a_name_that_could_not_be_shown_is_refused(vault: Vault, name: str) -> None:
    assert "printable characters" in refusal(lambda: vault.add(name, ApiKey(Secret(KEY))))


def test_no_secret_is_on_disk_in_the_clear_and_files_are_private(vault: Vault, tmp_path: Path) -> None:
    vault.add("login", TOKENS)
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        data = path.read_bytes()
        for value in (KEY, "access-value-1", "refresh-value-1"):
            assert value.encode() not in data
            assert base64.b64encode(value.encode()) not in data


def test_equal_secrets_are_stored_differently(vault: Vault, tmp_path: Path) -> None:
    vault.add("again", ApiKey(Secret(KEY)))
    entries = stored(tmp_path)["entries"]
    assert entries["again"]["sealed"] != entries["anthropic"]["sealed"]


def test_a_secret_does_not_show_itself(vault: Vault) -> None:
    credential = vault.get("anthropic")
    secret = Secret(KEY)
    for text in (
        repr(credential),
        str(credential),
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret!r:>40}",
        repr(TOKENS),
    ):
        assert KEY not in text
        assert "value-1" not in text
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        copy.deepcopy(secret)
    assert Secret("a") == Secret("a") != Secret("b")


def test_uses_are_counted_and_listed_without_the_key(tmp_path: Path) -> None:
    now = [100.0]
    vault = Vault(tmp_path, key_sources=[FileKeys(tmp_path)], clock=lambda: now[0])
    vault.add("openai", ApiKey(Secret(KEY)), {"provider": "openai"})
    now[0] = 200.0
    vault.get("openai")
    now[0] = 300.0
    vault.get("openai")
    (tmp_path / "vault.key").unlink()
    (info,) = vault.list()
    assert (info.name, info.kind, info.meta) == ("openai", "api_key", {"provider": "openai"})
    assert (info.created_at, info.last_used_at, info.use_count) == (100.0, 300.0, 2)


def test_an_entry_is_not_replaced_unless_asked_for(vault: Vault) -> None:
    assert "already has an entry" in refusal(lambda: vault.add("anthropic", ApiKey(Secret("other-key"))))
    assert revealed(vault.get("anthropic")) == KEY
    before = vault.list()[0]
    vault.add("anthropic", ApiKey(Secret("other-key")), replace=True)
    after = vault.list()[0]
    assert revealed(vault.get("anthropic")) == "other-key"
    assert (after.created_at, after.use_count, after.meta) == (before.created_at, before.use_count, before.meta)


def test_a_removed_entry_is_gone(vault: Vault) -> None:
    vault.remove("anthropic")
    assert vault.list() == []
    assert "no entry named 'anthropic'" in refusal(lambda: vault.get("anthropic"))
    assert "no entry named 'anthropic'" in refusal(lambda: vault.remove("anthropic"))


def test_an_empty_home_is_an_empty_vault(tmp_path: Path) -> None:
    vault = open_vault(tmp_path / "not" / "there")
    assert vault.list() == []
    assert "no entry named" in refusal(lambda: vault.get("x"))
    assert not (tmp_path / "not").exists()


@pytest.mark.parametrize("field", ["sealed", "nonce"])
def test_a_changed_entry_is_refused_and_the_others_still_work(vault: Vault, tmp_path: Path, field: str) -> None:
    vault.add("other", ApiKey(Secret("other-key")))
    content = stored(tmp_path)
    data = bytearray(base64.b64decode(content["entries"]["anthropic"][field]))
    data[0] ^= 1
    content["entries"]["anthropic"][field] = base64.b64encode(data).decode()
    rewrite(tmp_path, content)
    assert "was changed after it was stored" in refusal(lambda: vault.get("anthropic"))
    assert revealed(vault.get("other")) == "other-key"


def test_entries_cannot_be_swapped_or_relabelled(vault: Vault, tmp_path: Path) -> None:
    vault.add("other", ApiKey(Secret("other-key")))
    content = stored(tmp_path)
    entries = content["entries"]
    entries["anthropic"], entries["other"] = entries["other"], entries["anthropic"]
    rewrite(tmp_path, content)
    assert "was changed" in refusal(lambda: vault.get("anthropic"))
    entries["anthropic"], entries["other"] = entries["other"], entries["anthropic"]
    entries["other"]["kind"] = "oauth"
    rewrite(tmp_path, content)
    assert "was changed" in refusal(lambda: vault.get("other"))
    assert revealed(vault.get("anthropic")) == KEY


@pytest.mark.parametrize("kept", [0, 1, 40, -1])
def test_a_truncated_file_is_refused_and_never_written_over(vault: Vault, tmp_path: Path, kept: int) -> None:
    path = tmp_path / "vault.json"
    damaged = path.read_bytes()[:kept]
    path.write_bytes(damaged)
    for action in (
        vault.list,
        lambda: vault.get("anthropic"),
        lambda: vault.add("new", ApiKey(Secret("new-key"))),
        lambda: vault.remove("anthropic"),
    ):
        assert "damaged" in refusal(action)
        assert path.read_bytes() == damaged


def test_a_file_of_a_newer_version_is_refused_and_kept(vault: Vault, tmp_path: Path) -> None:
    rewrite(tmp_path, {**stored(tmp_path), "version": 2})
    before = (tmp_path / "vault.json").read_bytes()
    assert "newer version" in refusal(lambda: vault.add("new", ApiKey(Secret("new-key"))))
    assert (tmp_path / "vault.json").read_bytes() == before


@pytest.mark.parametrize("name", ["vault.json", "vault.key"])
def test_a_file_open_to_others_is_refused_with_the_command_that_closes_it(
    vault: Vault, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).chmod(0o640)
    message = refusal(lambda: vault.get("anthropic"))
    assert "open to other users (mode 0640" in message
    assert f"chmod 600 {tmp_path / name}" in message
    (tmp_path / name).chmod(0o600)
    assert revealed(vault.get("anthropic")) == KEY


def test_a_symlink_in_place_of_the_file_is_refused(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "vault.json").rename(tmp_path / "elsewhere.json")
    (tmp_path / "vault.json").symlink_to(tmp_path / "elsewhere.json")
    assert "cannot be opened" in refusal(vault.list)


def test_a_missing_key_is_told_and_no_new_one_is_made(vault: Vault, tmp_path: Path) -> None:
    before = (tmp_path / "vault.json").read_bytes()
    (tmp_path / "vault.key").unlink()
    assert "was not found" in refusal(lambda: vault.get("anthropic"))
    assert "was not found" in refusal(lambda: vault.add("new", ApiKey(Secret("new-key"))))
    assert (tmp_path / "vault.json").read_bytes() == before
    assert not (tmp_path / "vault.key").exists()


def test_a_wrong_key_is_told_apart_from_tampering(vault: Vault, tmp_path: Path) -> None:
    (identity,) = json.loads((tmp_path / "vault.key").read_bytes())["keys"]
    wrong = {"keys": {identity: base64.b64encode(os.urandom(32)).decode()}}
    (tmp_path / "vault.key").write_text(json.dumps(wrong))
    before = (tmp_path / "vault.json").read_bytes()
    assert "is not the one" in refusal(lambda: vault.get("anthropic"))
    assert "is not the one" in refusal(lambda: vault.add("new", ApiKey(Secret("new-key"))))
    assert (tmp_path / "vault.json").read_bytes() == before


def test_a_damaged_key_file_is_refused_and_kept(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "vault.key").write_text('{"keys": {')
    assert "is damaged" in refusal(lambda: vault.get("anthropic"))
    assert (tmp_path / "vault.key").read_text() == '{"keys": {'


def test_the_keyring_holds_the_key_where_there_is_one(tmp_path: Path) -> None:
    keyring = FakeKeyring()
    vault = Vault(tmp_path, key_sources=[KeyringKeys(keyring), FileKeys(tmp_path)])
    vault.add("openai", ApiKey(Secret(KEY)))
    assert not (tmp_path / "vault.key").exists()
    assert revealed(vault.get("openai")) == KEY
    assert len(keyring.passwords) == 1
    assert revealed(vault.get("openai")) == KEY
    keyring.locked = True
    assert "Unlock the keyring" in refusal(lambda: vault.get("openai"))


@pytest.mark.parametrize("absent", ["locked", "null"])
def test_without_a_working_keyring_the_key_goes_to_a_file(tmp_path: Path, absent: str) -> None:
    keyring = NullKeyring() if absent == "null" else FakeKeyring()
    keyring.locked = absent == "locked"
    vault = Vault(tmp_path, key_sources=[KeyringKeys(keyring), FileKeys(tmp_path)])
    vault.add("openai", ApiKey(Secret(KEY)))
    assert (tmp_path / "vault.key").exists()
    assert revealed(vault.get("openai")) == KEY


def _add_many(home: str, prefix: str) -> None:
    vault = open_vault(Path(home))
    for index in range(15):
        vault.add(f"{prefix}{index}", ApiKey(Secret(f"{prefix}-key-{index}")))


def test_two_processes_writing_at_once_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_add_many, args=(str(tmp_path), prefix)) for prefix in ("a", "b")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
        assert worker.exitcode == 0
    vault = open_vault(tmp_path)
    assert len(vault.list()) == 30
    assert revealed(vault.get("b14")) == "b-key-14"
    assert len(json.loads((tmp_path / "vault.key").read_bytes())["keys"]) == 1


def test_a_key_is_usable_when_its_use_cannot_be_counted(
    vault: Vault, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "vault.lock").unlink()
    (tmp_path / "vault.lock").mkdir()
    assert revealed(vault.get("anthropic")) == KEY
    assert "could not be saved" in caplog.text


def test_machines_that_are_given_the_key_share_a_vault_and_it_lies_nowhere(tmp_path: Path) -> None:
    given = base64.b64encode(os.urandom(32)).decode()
    Vault(tmp_path, given_key=given).add("anthropic", ApiKey(Secret(KEY)))
    found = Vault(tmp_path, given_key=given).get("anthropic")
    assert isinstance(found, ApiKey)
    assert found.key.reveal() == KEY
    assert not (tmp_path / "vault.key").exists()
    other = base64.b64encode(os.urandom(32)).decode()
    with pytest.raises(OpenAgentError, match="was not found in"):
        Vault(tmp_path, given_key=other).get("anthropic")
    with pytest.raises(OpenAgentError, match="is no key"):
        Vault(tmp_path, given_key="short")
