"""Python processes that the daemon starts beside itself, outside any jail.

They work on what others wrote: a repository, a page, a model. So nothing of a folder or a variable decides what they
import, they start in the root folder, and they are given no key.
"""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

_more: list[Path] = []
"""What was fetched later, and can be imported here and in the processes that are started."""
ROOT = "/"
"""Where they work: a folder that nobody else can put modules into."""
_PASSED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
_RUN = (
    "import json,runpy,sys;"
    "module,places=sys.argv[1],json.loads(sys.argv[2]);"
    "sys.path+=[place for place in places if place not in sys.path];"
    "del sys.argv[1:3];"
    "runpy.run_module(module,run_name='__main__',alter_sys=True)"
)


def isolated(module: str, *arguments: str, places: Iterable[Path] = ()) -> Sequence[str]:
    """A command that runs a module. It finds the standard library, what is installed where the module is, and `places`.

    `-I` alone would not find what was installed for one user; `-m` alone would find what lies in the folder we are in.
    """
    found = find_spec(module.partition(".")[0])
    home = [str(Path(found.origin).parents[1])] if found is not None and found.origin else []
    return (sys.executable, "-I", "-c", _RUN, module, json.dumps([*home, *map(str, (*places, *_more))]), *arguments)


def also_from(folder: Path) -> None:
    """Lets modules be imported from there, when they are nowhere else: here, and in processes started from now on."""
    if folder not in _more:
        _more.append(folder)
        sys.path.append(str(folder))


def bare_environment(passed: Iterable[str] = ()) -> dict[str, str]:
    """What names no key and loads no code, and those that are `passed` on besides."""
    return {name: os.environ[name] for name in (*_PASSED, *passed) if name in os.environ}


def without_this_folder(path: list[str], folder: str) -> list[str]:
    """What Python looks through for modules, without the folder a program was started in: it may be anybody's.

    It stays where we ourselves were loaded from there.
    """
    own = os.path.realpath(Path(__file__).parents[2])
    here = os.path.realpath(folder)
    return [place for place in path if (place and os.path.realpath(place) != here) or here == own]
