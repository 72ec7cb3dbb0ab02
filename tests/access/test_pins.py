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
