"""The official conformance suite against a whole daemon. docs/mcp.md has the result of every scenario."""

import subprocess
import sys
from pathlib import Path

import pytest

from .test_real_servers import npm

__all__ = ["npm"]
pytestmark = pytest.mark.xdist_group("npm")

SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "scenario",
    [
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "auth/metadata-default",
        "auth/token-endpoint-auth-basic",
        "auth/scope-step-up",
        "auth/pre-registration",
        "auth/basic-cimd",
        "auth/client-credentials-basic",
        "auth/client-credentials-jwt",
        "auth/cross-app-access-complete-flow",
    ],
)
def test_the_official_suite_is_content_with_the_client(npm: Path, scenario: str) -> None:
    client = f"{sys.executable} -m {__package__}.conformance_client"
    ran = subprocess.run(
        ["node", "--import", npm / "node20.mjs", npm / SUITE, "client", "--scenario", scenario, "--command", client],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "OVERALL: PASSED" in ran.stdout + ran.stderr, (ran.stdout + ran.stderr)[-3000:]
