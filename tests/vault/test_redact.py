import io
import logging
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import openagent
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


_HEX, _MIXED = "0123456789abcdef" * 20, "Zx9Kq2Lm7Pw4Rt8Yv3" * 20
"""Never whole keys in this file: whoever scans sources for secrets would find them."""


@pytest.mark.parametrize(
    ("prefix", "rest"),
    [
        ("gsk_", _MIXED[:52]),
        ("xai-", _MIXED[:80]),
        ("pplx-", _MIXED[:48]),
        ("csk-", _MIXED[:48]),
        ("nvapi-", _MIXED[:64]),
        ("r8_", _MIXED[:37]),
        ("fw_", _MIXED[:24]),
        ("tvly-", _MIXED[:32]),
        ("jina_", _MIXED[:60]),
        ("lsv2_pt_", _HEX[:32] + "_" + _HEX[:10]),
        ("e2b_", _HEX[:40]),
        ("api_org_", _MIXED[:34]),
        ("sk-or-v1-", _HEX[:64]),
        ("npm_", _MIXED[:36]),
        ("pypi-", "AgEIcHlwaS5vcmc" + _MIXED[:60]),
        ("rubygems_", _HEX[:48]),
        ("CLOJARS_", _MIXED[:60]),
        ("sk_live_", _MIXED[:24]),
        ("rk_test_", _MIXED[:24]),
        ("whsec_", _MIXED[:32]),
        ("sq0atp-", _MIXED[:22]),
        ("EAAA", _MIXED[:60]),
        ("EZAK", _MIXED[:54]),
        ("FLWSECK_TEST-", _HEX[:32]),
        ("shippo_live_", _HEX[:40]),
        ("hvs.", _MIXED[:95]),
        ("hvb.", _MIXED[:140]),
        ("dop_v1_", _HEX[:64]),
        ("doo_v1_", _HEX[:64]),
        ("fo1_", _MIXED[:43]),
        ("fm2_", _MIXED[:110]),
        ("sbp_", _HEX[:40]),
        ("pscale_tkn_", _MIXED[:40]),
        ("dapi", _HEX[:32]),
        ("glsa_", _MIXED[:32] + "_" + _HEX[:8]),
        ("glc_", _MIXED[:64]),
        ("sntryu_", _HEX[:64]),
        ("NRAK-", _MIXED[:27].upper()),
        ("PMAK-", _HEX[:24] + "-" + _HEX[:34]),
        ("pul-", _HEX[:40]),
        ("pnu_", _MIXED[:36]),
        ("rdme_", _HEX[:70]),
        ("HRKU-AA", _MIXED[:58]),
        ("v1.0-", _HEX[:24] + "-" + _HEX[:146]),
        ("sha256~", _MIXED[:43]),
        ("GOCSPX-", _MIXED[:28]),
        ("LTAI", _MIXED[:20]),
        ("ABSK", _MIXED[:120]),
        ("AKCp", _MIXED[:69]),
        ("ATATT3", _MIXED[:180]),
        ("gldt-", _MIXED[:20]),
        ("glrt-", _MIXED[:20]),
        ("GR1348941", _MIXED[:20]),
        ("shpat_", _HEX[:32]),
        ("lin_api_", _MIXED[:40]),
        ("ntn_", "12345678901" + _MIXED[:35]),
        ("figd_", _MIXED[:40]),
        ("xapp-1-", "A012345-0123456789012-" + _HEX[:64]),
        ("xoxb-", "0123456789-0123456789-" + _MIXED[:24]),
        ("SG.", _MIXED[:22] + "." + _MIXED[:43]),
        ("SK", _HEX[:32]),
        ("key-", _HEX[:32]),
        ("xkeysib-", _HEX[:64] + "-" + _MIXED[:16]),
        ("re_", "AbCd1234_" + _MIXED[:24]),
        ("dp.pt.", _MIXED[:43]),
        ("AGE-SECRET-KEY-1", _MIXED[:58].upper()),
    ],
)
def test_keys_of_many_services_are_masked(prefix: str, rest: str) -> None:
    assert Redactor().redact(f"refused: {prefix}{rest} (401)") == f"refused: {MASK} (401)"
    assert Redactor().redact(f'{{"key":"{prefix}{rest}"}}') == f'{{"key":"{MASK}"}}'
    assert Redactor().redact(f"KEY_{prefix}{rest}") == f"KEY_{MASK}"


@pytest.mark.parametrize("before", ["", "é", "中", "KEY_", "line\\n", "\\t"])
def test_a_key_is_masked_whatever_other_than_a_word_stands_before_it(before: str) -> None:
    for key in ("ghp_" + _MIXED[:36], "xoxz-" + _MIXED[:24], "AKIA" + "A1B2C3D4" * 2):
        assert Redactor().redact(f"{before}{key}") == f"{before}{MASK}"


def test_a_private_key_is_masked_in_the_middle_of_a_word() -> None:
    text = "certificate\\n-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----"
    assert Redactor().redact(text) == f"certificate\\n{MASK}"
    assert Redactor().redact("x-----BEGIN PRIVATE KEY-----\nMIIE") == f"x{MASK}"


def test_our_own_sources_hold_nothing_in_the_shape_of_a_key() -> None:
    sources = list(Path(openagent.__file__).parent.rglob("*.py"))
    assert len(sources) > 100
    for source in sources:
        text = source.read_text()
        masked = "".join(line for line in _without_labels(text))
        assert Redactor().redact(masked) == masked, source


def _without_labels(text: str) -> list[str]:
    """What follows `password=` is masked whatever it is."""
    labels = ("bearer", "basic", "key", "password", "token", "secret", "verifier", "://")
    return [line for line in text.splitlines() if not any(label in line.lower() for label in labels)]


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
        "re_compiled_pattern_of_everything = ops_per_second_and_more_of_it; fm1a_and_so_on",
        "commit 0123456789abcdef0123456789abcdef01234567, sha256:0123456789abcdef0123456789abcdef",
        "monkey-business, key-value-store, v1.0-rc1, foo_sk_live_view",
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
