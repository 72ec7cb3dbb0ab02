"""What a hostile session might leave in git's own files, so that the person's next `git status` runs a program.

Each is a shell command. `EVIL` stands for one that makes a file outside the workspace, which only a program run outside
can make; `SET file` writes a setting into a file by which git would run it.
"""

from typing import NamedTuple

_MAKE = "git init -q {0} && git -C {0} -c user.name=x -c user.email=x commit -q --allow-empty -m x"
_LINK = "git update-index --add --cacheinfo 160000,$(git -C {0} rev-parse HEAD),{0}"
_COPY = "mkdir -p {0} && cp -r .git/config .git/HEAD .git/refs .git/objects {0}/"


class Plot(NamedTuple):
    name: str
    command: str
    start: str = "repository"
    """What the person has before: a repository, nothing, a submodule, another work tree, or settings of their own."""
    looks: tuple[str, ...] = (".",)
    """Where they run git afterwards."""


PLOTS = [
    Plot("settings", "git config core.fsmonitor 'EVIL'; printf '[core]\\n\\tfsmonitor = EVIL\\n' >> .git/config"),
    Plot("settings replaced", "cp .git/config c; SET c; mv -f c .git/config"),
    Plot("a hook", "printf '#!/bin/sh\\nEVIL\\n' > .git/hooks/post-index-change; chmod +x .git/hooks/*; touch file"),
    Plot(
        "commondir",
        f"{_COPY.format('.git/e')}; SET .git/e/config; echo e > .git/commondir",
    ),
    Plot(
        "commondir by renaming",
        f"{_COPY.format('.git/e')}; SET .git/e/config; echo e > .git/c; mv -f .git/c .git/commondir",
    ),
    Plot("the repository replaced", "cp -r .git g; SET g/config; mv .git old; mv g .git"),
    Plot(
        "the repository deleted",
        "cp -r .git g; SET g/config; rm -rf .git; cp -r g/. .git",
    ),
    Plot("a gitlink", f"{_MAKE.format('sub')}; {_LINK.format('sub')}; SET sub/.git/config"),
    Plot(
        "a gitlink in an ignored folder",
        f"echo deps > .gitignore; {_MAKE.format('deps/x')}; {_LINK.format('deps/x')}; SET deps/x/.git/config",
    ),
    Plot(
        "a gitlink whose .git is a file",
        f"{_MAKE.format('sub')}; mv sub/.git store; echo 'gitdir: ../store' > sub/.git; {_LINK.format('sub')}; "
        "SET store/config",
    ),
    Plot(
        "a gitlink whose .git is a file with a NUL byte",
        f"{_MAKE.format('sub')}; mv sub/.git store; printf 'gitdir: ../store\\0x' > sub/.git; {_LINK.format('sub')}; "
        "SET store/config",
    ),
    Plot(
        "a gitlink whose .git leads to a name that ends with a space",
        f"{_MAKE.format('sub')}; {_LINK.format('sub')}; mv sub/.git store; SET store/config; mv store 'store '; "
        "echo 'gitdir: ../store ' > sub/.git",
    ),
    Plot(
        "a gitlink whose .git is a link",
        f"{_MAKE.format('sub')}; mv sub/.git store; ln -s ../store sub/.git; {_LINK.format('sub')}; SET store/config",
    ),
    Plot(
        "a gitlink with included settings",
        f"{_MAKE.format('sub')}; {_LINK.format('sub')}; SET more; git -C sub config include.path ../../more",
    ),
    Plot(
        "a gitlink with a commondir",
        f"{_MAKE.format('sub')}; {_LINK.format('sub')}; cp -r sub/.git e; SET e/config; "
        "echo ../../e > sub/.git/commondir",
    ),
    Plot(
        "a gitlink with hooks",
        f"{_MAKE.format('sub')}; echo x > sub/x; git -C sub add x; {_LINK.format('sub')}; "
        "printf '#!/bin/sh\\nEVIL\\n' > sub/.git/hooks/post-index-change; chmod +x sub/.git/hooks/*; touch sub/x",
        looks=(".", "sub"),
    ),
    Plot("a new repository", "git init -q; git config core.fsmonitor 'EVIL'", "nothing"),
    Plot(
        "a new repository with its settings' way back taken",
        "git init -q; git config core.fsmonitor 'EVIL'; touch .git/.config.openagent .git/.config; chmod 555 .git",
        "nothing",
    ),
    Plot(
        "a new repository with its hooks' way out taken",
        "git init -q; echo a > a; git add a; mkdir -p .git/hooks/post-index-change.disarmed; "
        "printf '#!/bin/sh\\nEVIL\\n' > .git/hooks/post-index-change; chmod +x .git/hooks/*; chmod 555 .git/hooks; "
        "touch a",
        "nothing",
    ),
    Plot(
        "a new repository behind many others",
        "for i in $(seq 600); do mkdir a$i; touch a$i/config; done; "
        "git init -q z; git -C z config core.fsmonitor 'EVIL'",
        "nothing",
        ("z",),
    ),
    Plot(
        "a new repository in a folder with a long name",
        "d=$(printf '\\360\\237\\231\\210%.0s' $(seq 50)); mkdir -p $d/$d/$d; git init -q $d/$d/$d/z; "
        "ln -s $d/$d/$d/z here; git -C here config core.fsmonitor 'EVIL'",
        "nothing",
        ("here",),
    ),
    Plot(
        "a new repository that cannot be listed",
        "git init -q; git config core.fsmonitor 'EVIL'; chmod 311 .git",
        "nothing",
    ),
    Plot(
        "a new repository whose hooks cannot be listed",
        "git init -q; echo a > a; git add a; printf '#!/bin/sh\\nEVIL\\n' > .git/hooks/post-index-change; "
        "chmod +x .git/hooks/*; chmod 311 .git/hooks; touch a",
        "nothing",
    ),
    Plot(
        "a new repository in a folder that cannot be listed",
        "mkdir sub; git init -q sub; git -C sub config core.fsmonitor 'EVIL'; chmod 311 sub",
        "nothing",
        ("sub",),
    ),
    Plot(
        "a new repository from a template",
        "mkdir -p t/hooks; printf '#!/bin/sh\\nEVIL\\n' > t/hooks/post-index-change; chmod +x t/hooks/*; "
        "git init -q --template=t; echo a > a; git add a; touch a",
        "nothing",
    ),
    Plot(
        "a new repository with hooks elsewhere",
        "git init -q; mkdir h; printf '#!/bin/sh\\nEVIL\\n' > h/post-index-change; chmod +x h/*; "
        "git config core.hooksPath h; echo a > a; git -c core.hooksPath=/dev/null add a; touch a",
        "nothing",
    ),
    Plot("a new .git that is a file", "git init -q --separate-git-dir=r; git config core.fsmonitor 'EVIL'", "nothing"),
    Plot(
        "a new .git that is a link",
        "git init -q; mv .git r; ln -s r .git; SET r/config",
        "nothing",
    ),
    Plot(
        "the folder itself as a bare repository",
        "git init -q; mv .git/* .; rmdir .git; git config -f config core.bare false; "
        "git config -f config core.worktree .; SET config",
        "nothing",
    ),
    Plot(
        "the folder itself as a bare repository, once .git is broken",
        "cp -r .git/HEAD .git/refs .git/objects .; cp .git/config c; git config -f c core.worktree .; "
        "SET c; mv c config; rm -f .git/HEAD",
    ),
    Plot(
        "a bare repository in a subfolder",
        "git init -q pkg; mv pkg/.git/* pkg; rmdir pkg/.git; git config -f pkg/config core.worktree .; SET pkg/config",
        looks=("pkg",),
    ),
    Plot(
        "a clone with settings",
        f"{_MAKE.format('src')}; git clone -q --config core.fsmonitor='EVIL' src vendor/deep/clone",
        looks=(".", "vendor/deep/clone"),
    ),
    Plot(
        "a new work tree with a commondir",
        f"git worktree add -q wt; {_COPY.format('e')}; SET e/config; "
        "cp -r .git/worktrees e/; echo ../../../e > .git/worktrees/wt/commondir",
        looks=(".", "wt"),
    ),
    Plot("settings of a work tree", "SET .git/config.worktree", "work tree settings"),
    Plot(
        "the person's other work tree",
        f'{_COPY.format("e")}; SET e/config; cp -r .git/worktrees e/; echo "$PWD/e" > .git/worktrees/other/commondir',
        "another work tree",
        (".", "../other"),
    ),
    Plot(
        "a submodule's settings",
        "SET .git/modules/sub/config; touch sub/file",
        "submodule",
    ),
    Plot(
        "a submodule's .git file",
        "cp -r .git/modules/sub e; git config -f e/config core.worktree ../sub; SET e/config; "
        "echo 'gitdir: ../e' > sub/.git || { mv sub s2; cp -r s2 sub; rm sub/.git; echo 'gitdir: ../e' > sub/.git; }",
        "submodule",
    ),
    Plot("a nested repository's settings", "SET own/.git/config", "nested", (".", "own")),
    Plot(
        "a hook where the person has theirs",
        "printf '#!/bin/sh\\nEVIL\\n' > .githooks/post-index-change; chmod +x .githooks/*; touch file",
        "own hooks",
    ),
    Plot("settings that the person includes", "SET .gitconfig", "own include"),
    Plot("a filter that the person uses", "echo 'EVIL' > clean.sh; touch file", "own filter"),
]
