"""Files that usually hold secrets, known by their names."""

import pytest

from openagent.policy.decision import decide
from openagent.policy.paths import is_secret_file
from openagent.policy.rules import RuleSet
from openagent.protocol.sessions import Mode
from tests.policy.labelled import decided, facts_of

SECRET = (
    *(".env", ".env.production", ".envrc", ".dev.vars", ".htpasswd", ".netrc", ".npmrc", ".pypirc", ".git-credentials"),
    *("id_rsa", "id_ed25519", "server.pem", "server.key", "config/master.key", "app.p12", "release.jks", "kubeconfig"),
    *(
        "credentials.json",
        "service-account.json",
        "config/secrets.yml",
        "prod.tfvars",
        "config.local.yaml",
        ".vault-token",
    ),
)
OTHER = (
    *(
        ".env.example",
        "ca.pub.key",
        "charts/app/templates/secrets.yaml",
        "keys.py",
        "monkey",
        "config.yaml",
        "a.key.md",
    ),
    *("secrets.py", "variables.tf", "kubeconfig.go", "src/config.local.ts", "public.key", "docs/envrc.md"),
)


@pytest.mark.parametrize("path", SECRET)
def test_a_file_that_usually_holds_secrets_is_not_read_unasked(path: str) -> None:
    assert is_secret_file(path)
    modes: tuple[Mode, ...] = ("plan", "ask", "edits", "auto")
    for mode in modes:
        assert decide(facts_of("read_file", "read", path), mode, RuleSet()).kind != "allow", mode
    for command in (f"cat {path}", f"grep x < {path}", f"cp {path} x", f"python -c 'open(\"{path}\")'"):
        assert decided(command).kind == "ask"
        assert decided(command, "auto").kind == "ask" or command.startswith("python")


@pytest.mark.parametrize("path", OTHER)
def test_a_file_that_only_looks_like_one_is_read(path: str) -> None:
    assert not is_secret_file(path)
    assert decide(facts_of("read_file", "read", path), "plan", RuleSet()).kind == "allow"
    assert decided(f"cat {path}").kind == "allow"
