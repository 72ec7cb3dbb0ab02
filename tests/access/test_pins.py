"""Nothing is installed whose content was not seen before."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_pin_has_hashes_and_every_installation_asks_for_them(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, ROOT / "scripts" / "pins.py", "--check"], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    for script in ("scripts/setup.sh", "scripts/dist.sh", "scripts/test_servers.sh", ".github/workflows/ci.yml"):
        text = (ROOT / script).read_text().replace("\\\n", " ")
        assert not re.search(r"\b(pipx|uvx|npx) ", text), script
        installs = [line for line in text.splitlines() if re.search(r"-m pip .*\binstall", line)]
        from_files = [line for line in installs if "--requirement" in line or '"${files[@]}"' in line]
        assert from_files
        assert all("--require-hashes" in line for line in from_files)
        others = [line for line in installs if line not in from_files]
        assert all("--no-deps" in line for line in others), others


def test_every_action_of_a_workflow_is_named_by_its_commit() -> None:
    """But for PyPI's own, which asks to be named by its branch."""
    workflows = "".join(file.read_text() for file in (ROOT / ".github/workflows").glob("*.yml"))
    used = [name for name in re.findall(r"uses: (\S+)", workflows) if not name.startswith("./")]
    assert used
    assert {name for name in used if not re.search(r"@[0-9a-f]{40}$", name)} == {
        "pypa/gh-action-pypi-publish@release/v1"
    }
