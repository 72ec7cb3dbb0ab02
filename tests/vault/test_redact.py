import io
import logging
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openagent.vault.entries import ApiKey, OAuthTokens
from openagent.vault.master import FileKeys
from openagent.vault.redact import MASK, RedactingFilter, Redactor
from openagent.vault.secret import Secret
from openagent.vault.vault import Vault

letters = st.text(alphabet="abcxyz/+ -", min_size=6, max_size=12)


@given(secrets=st.lists(letters, min_size=1, max_size=4), words=st.lists(letters, max_size=4), order=st.randoms())
def test_a_registered_value_never_survives(secrets: list[str], words: list[str], order: Random) -> None:
    redactor = Redactor()
    for secret in secrets:
        redactor.register(secret)
    mixed = [*secrets, *secrets, *words]
    order.shuffle(mixed)
    redacted = redactor.redact("".join(mixed))
    assert not [secret for secret in secrets if secret in redacted]


def test_no_rest_of_overlapping_secrets_is_left() -> None:
    redactor = Redactor()
    redactor.register("abcdefgh")
    redactor.register("fghijklm")
    redactor.register("bcdefg")
    assert redactor.redact("<abcdefghijklm>") == f"<{MASK}>"
    assert redactor.redact("<abcdefgh>") == f"<{MASK}>"


def test_a_value_quoted_in_a_url_is_masked() -> None:
    redactor = Redactor()
    redactor.register("s3cret/with+signs")
    assert redactor.redact("GET /?q=s3cret%2Fwith%2Bsigns") == f"GET /?q={MASK}"


@pytest.mark.parametrize(
    "text",
    [
        "sk-ant-api03-abcdefghijklmnopqrstuvwxyz",
        "sk-proj-abcdefghij_klmnopqrst",
        "AIzaSyA1234567890abcdefghijklmnopqrstuvw",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_11ABCDEFG0abcdefghijklmnop",
        "AKIAIOSFODNN7EXAMPLE",
        "ya29.a0AfH6SMBx-abcdefghij",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----",
    ],
)
def test_a_string_in_the_shape_of_a_key_is_masked(text: str) -> None:
    assert Redactor().redact(f"refused: {text} (401)") == f"refused: {MASK} (401)"


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("Authorization: Bearer abcdef0123456789", f"Authorization: Bearer {MASK}"),
        ('{"refresh_token": "r-12345678", "n": 1}', f'{{"refresh_token": "{MASK}", "n": 1}}'),
        ("x-api-key: 0123456789abcdef", f"x-api-key: {MASK}"),
        ("https://x.test/?client_secret=abc123def&n=1", f"https://x.test/?client_secret={MASK}&n=1"),
        ("postgresql://me:hunter2@db/app", f"postgresql://me:{MASK}@db/app"),
    ],
)
def test_a_labelled_value_is_masked(text: str, redacted: str) -> None:
    assert Redactor().redact(text) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "the task-force went through the list at https://example.com/a:b/c",
        "tokens: 1234 in, 56 out; the basic idea of api_key = short",
        "risk-assessment-of-a-very-long-identifier-name",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert Redactor().redact(text) == text


def test_a_log_line_and_its_traceback_are_redacted() -> None:
    redactor = Redactor()
    redactor.register("hunter2hunter2")
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(RedactingFilter(redactor))
    logger = logging.Logger("test")
    logger.addHandler(handler)
    try:
        raise ValueError("bad key hunter2hunter2")
    except ValueError:
        logger.exception("with %s", "hunter2hunter2")
    assert "hunter2" not in stream.getvalue()
    assert f"ValueError: bad key {MASK}" in stream.getvalue()


def test_the_vault_teaches_the_redactor_what_it_holds(tmp_path: Path) -> None:
    home = tmp_path
    Vault(home, key_sources=[FileKeys(home)]).add("key", ApiKey(Secret("plain-words-key")))
    redactor = Redactor()
    vault = Vault(home, key_sources=[FileKeys(home)], redactor=redactor)
    vault.get("key")
    vault.add("login", OAuthTokens(access=Secret("one-access"), refresh=Secret("one-refresh")))
    assert redactor.redact("plain-words-key one-access one-refresh") == f"{MASK} {MASK} {MASK}"
