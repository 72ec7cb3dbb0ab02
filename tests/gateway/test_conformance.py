"""The official conformance suite against the server of `openagent mcp serve`. docs/mcp.md has the scenarios."""

import subprocess
import sys
from pathlib import Path

import pytest

from ..mcp_host.test_real_servers import npm

__all__ = ["npm"]
pytestmark = pytest.mark.xdist_group("npm")

ROOT = Path(__file__).parents[2]


def test_the_official_suite_is_content_with_the_server(npm: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", f"{__package__}.conformance_server"],
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    summary = ran.stdout.partition("=== SUMMARY ===")[2]
    assert (summary.count("✓"), summary.count("✗")) == (32, 0), ran.stdout[-3000:] + ran.stderr[-3000:]
    assert ran.returncode == 0
