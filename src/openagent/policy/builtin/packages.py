"""Package managers, build tools and containers."""

import re
from collections.abc import Iterable

from openagent.policy import paths
from openagent.policy.builtin import catalogue
from openagent.policy.builtin.calls import Call, Handler, Inner, InnerScript, Outcome
from openagent.policy.builtin.catalogue import Finding
from openagent.policy.builtin.network import exfiltrates
from openagent.policy.names import names
from openagent.policy.shell.values import Value


def only_asks_version(call: Call, *also: str) -> bool:
    """Words such as `help` and `-v` do not count by themselves: `make help` and `pytest -v` run code."""
    return len(call.values) == 1 and call.values[0].text in ("--version", "--help", *also)


def verbs(reading: str = "", installing: str = "", publishing: str = "", with_value: str = "") -> Handler:
    """A tool whose first operand says what it does; what is not named runs code of the project."""
    read, install, publish = (frozenset(words.split()) for words in (reading, installing, publishing))

    def handle(call: Call) -> Iterable[Outcome]:
        if only_asks_version(call):
            return ()
        operands = call.operands(with_value)
        verb = operands[0].text if operands else ""
        detail = f"{call.name} {verb}".strip()
        if verb in publish:
            return [Finding(catalogue.PUBLISHES, detail)]
        if verb in install:
            return [Finding(catalogue.INSTALLS, detail)]
        if verb in read and operands[0].known:
            return ()
        return [Finding(catalogue.UNKNOWN_COMMAND, detail)]

    return handle


def _npx(call: Call) -> Iterable[Outcome]:
    return [Finding(catalogue.INSTALLS, " ".join(call.texts)), Inner(tuple(call.operands("-p --package")))]


def _npm(call: Call) -> Iterable[Outcome]:
    if only_asks_version(call, "-v"):
        return ()
    operands = call.operands("--prefix -w --workspace -C --registry")
    verb = operands[0].text if operands else ""
    if verb in ("exec", "x", "dlx"):
        return [Finding(catalogue.INSTALLS, verb), Inner(tuple(operands[1:]))]
    if verb == "config" and operands[1:2] and operands[1].text in ("set", "delete", "edit"):
        return [Finding(catalogue.STEERS_SHELL, "npm config")]
    if verb == "token" or (verb == "config" and operands[1:2] and "auth" in operands[-1].text.lower()):
        return [Finding(catalogue.SECRET_STORE, "npm " + verb)]
    return _NPM(call)


_NPM = verbs(
    "ls list ll why explain root prefix bin config fund licenses",
    "install i add ci update upgrade remove uninstall rm link rebuild dedupe prune global import "
    "audit init create self-update",
    "publish unpublish deprecate dist-tag owner access login logout adduser token team star",
    "--prefix -w --workspace -C --registry --cwd",
)


def _go(call: Call) -> Iterable[Outcome]:
    if call.texts[:1] == ["env"] and call.has("wu"):
        return [Finding(catalogue.STEERS_SHELL, "go env -w")]
    if call.texts[:1] in (["list"], ["vet"]) and call.has("", "toolexec", "exec", "vettool", "export", "compiled"):
        return [Finding(catalogue.RISKY_CODE)]
    return verbs("version env list doc", "install get mod")(call)


def _cargo(call: Call) -> Iterable[Outcome]:
    if any(text.startswith(("--config", "-Z")) for text in call.texts):
        return [Finding(catalogue.STEERS_SHELL)]
    return verbs(
        "version",
        "install add update uninstall remove fetch vendor",
        "publish yank owner login",
    )(call)


def _pip(call: Call) -> Iterable[Outcome]:
    return verbs("list show freeze check help inspect debug hash", "install uninstall download wheel cache config")(
        call
    )


_HOST_RIGHTS = re.compile(
    r"--privileged|--(?:pid|userns)[= ]host|--cap-add[= ](?:ALL|SYS_ADMIN)"
    r"|--security-opt[= ]\S*unconfined|--device[= ]/dev/(?:sd|nvme)"
)


def _docker(call: Call) -> Iterable[Outcome]:
    texts = call.texts
    line = " ".join(texts)
    operands = call.operands("-H --host --context -c -f --file -p --project-name")
    verb = operands[0].text if operands else ""
    if only_asks_version(call) or (verb in ("ps", "images", "version", "info") and not call.has("H", "host")):
        return ()
    found: list[Outcome] = []
    if _HOST_RIGHTS.search(line):
        found.append(Finding(catalogue.CONTAINER_ESCAPE, line))
    for mount in re.findall(r"(?:-v|--volume|--mount)[= ](\S+)", line):
        source = re.sub(r".*(?:src|source)=([^,]*).*", r"\1", mount).partition(":")[0]
        if (
            "docker.sock" in source
            or call.is_critical(Value(source))
            or call.place(Value(source)) in ("system", "device")
        ):
            found.append(Finding(catalogue.CONTAINER_ESCAPE, source))
        elif paths.names_credentials(source):
            found.append(Finding(catalogue.READS_CREDENTIALS, source))
    if verb in ("push", "login"):
        found.append(Finding(catalogue.PUBLISHES, f"docker {verb}"))
    if verb == "exec" and len(operands) > 2:
        found.append(InnerScript(" ".join(value.text for value in operands[2:])))
    if re.search(r"\bprune\b|volume rm|system df$", line):
        found.append(Finding(catalogue.RECURSIVE_DELETE, line))
    return [*found, Finding(catalogue.CONTAINERS, line)]


def _make(call: Call) -> Iterable[Outcome]:
    if only_asks_version(call, "-v") and call.name in ("make", "gmake"):
        return ()
    found: list[Outcome] = [Finding(catalogue.UNKNOWN_COMMAND, " ".join([call.name, *call.texts]))]
    for text in call.texts:
        if assigned := re.match(r"(?:SHELL|\.SHELLFLAGS|CC|CXX|--eval)=(.*)", text):
            found += [Finding(catalogue.STEERS_SHELL, text), InnerScript(assigned[1])]
    return found


def _system_packages(call: Call) -> Iterable[Outcome]:
    line = " ".join(call.texts)
    if only_asks_version(call) or re.match(
        r"(?:-\S+ )*(?:list|search|show|info|policy|depends|rdepends|deps|leaves|outdated|-Q\w*|-[lLs]\b|-qa?\b|-q\w)",
        line,
    ):
        return ()
    found: list[Outcome] = []
    if re.search(r"Invoke|Pre-Invoke|-o\s*\S*::", line):
        found.append(Finding(catalogue.RISKY_CODE, line))
        found.extend(InnerScript(part.partition("=")[2]) for part in call.texts if "=" in part)
    return [*found, Finding(catalogue.INSTALLS, line)]


def _twine(call: Call) -> Iterable[Outcome]:
    return (
        ()
        if call.texts[:1] == ["check"] or only_asks_version(call)
        else [Finding(catalogue.PUBLISHES), *exfiltrates(call)]
    )


_COMPILERS = names("gcc g++ cc clang clang++ rustc java javac ghc")


def _version_only(call: Call) -> Iterable[Outcome]:
    """Compilers, test runners and the like: they run code of the project."""
    if only_asks_version(call, *(("-version", "-V") if call.name in _COMPILERS else ())):
        return ()
    return [Finding(catalogue.UNKNOWN_COMMAND, " ".join([call.name, *call.texts[:2]]))]


def _table() -> dict[str, Handler]:
    groups: dict[str, Handler] = {
        "npm": _npm,
        # Both run what the project names as its own version of them.
        "yarn pnpm": lambda call: list(_npm(call)) or [Finding(catalogue.UNKNOWN_COMMAND, call.name)],
        "npx bunx pnpx uvx pipx": _npx,
        "pip pip3": _pip,
        "cargo": _cargo,
        "go": _go,
        "docker podman nerdctl docker-compose podman-compose": _docker,
        "make gmake ninja just task": _make,
        "apt apt-get aptitude dpkg yum dnf rpm zypper pacman apk brew port snap flatpak nix-env "
        "emerge apt-cache apt-mark": _system_packages,
        "twine": _twine,
        "uv": verbs("", "add remove sync lock venv tool self python pip", "publish"),
        "poetry": verbs("show check", "add remove install update lock", "publish"),
        "gem": verbs("list environment which", "install uninstall update", "push yank owner signin"),
        "bundle": verbs("", "install update add remove"),
        "composer": verbs("", "install update require remove create-project global"),
        "mix": verbs("", "deps.get deps.update archive.install escript.install", "hex.publish"),
        "dotnet": verbs("", "add restore tool", "nuget"),
        "mvn gradle": verbs("", "", "deploy release:perform publish"),
        "conda mamba": verbs("list info", "install create update remove env"),
        "rustup": verbs("which", "install update default toolchain target component"),
        "vsce ovsx": verbs("", "", "publish"),
        "lerna changeset": verbs("", "", "publish version"),
        "gcc g++ cc clang clang++ rustc javac java scalac kotlinc swift swiftc tsc cmake meson bazel "
        "pytest tox nox mypy pyright eslint prettier "
        "jest vitest mocha black isort flake8 pylint coverage rspec rake phpunit ctest gdb lldb "
        "valgrind perf elixir iex erl ghc stack cabal "
        "opam dune zig nim crystal dart flutter hugo jekyll sphinx-build mkdocs pre-commit act "
        "shellcheck hadolint golangci-lint rustfmt "
        "gofmt clang-format terraform-docs protoc node-gyp playwright cypress storybook next nuxt "
        "vite webpack rollup esbuild turbo nx": _version_only,
    }
    return {name: handler for listed, handler in groups.items() for name in listed.split()}


PACKAGES = _table()
