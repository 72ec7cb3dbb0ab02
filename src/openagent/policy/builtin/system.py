"""Commands that steer the machine: processes, services, users, disks, schedules, secrets."""

from collections.abc import Iterable

from openagent.policy.builtin import catalogue
from openagent.policy.builtin.calls import Call, Handler, InnerScript, Outcome
from openagent.policy.builtin.catalogue import BuiltinRule, Finding
from openagent.policy.names import names
from openagent.policy.shell.values import Value


def always(rule: BuiltinRule, *, unless: str = "") -> Handler:
    """The rule, except when all arguments are among `unless`."""
    exempt = frozenset(unless.split())

    def handle(call: Call) -> Iterable[Outcome]:
        texts = call.texts
        if exempt and texts and call.known and all(text in exempt for text in texts):
            return ()
        return [Finding(rule, " ".join(texts))]

    return handle


def _kill(call: Call) -> Iterable[Outcome]:
    texts = call.texts
    if texts[:1] in (["-l"], ["-L"]):
        return ()
    targets = [text for text in texts[1:] if text != "--"] if texts[:1] and texts[0].startswith("-") else texts
    if texts[:1] in (["-s"], ["-n"]):
        targets = texts[2:]
    if "1" in targets or "-1" in targets or "0" in targets[:0] or texts in (["-1"], ["--", "-1"]):
        return [Finding(catalogue.KILLS_EVERYTHING, " ".join(texts))]
    return [Finding(catalogue.STOPS_PROCESSES, " ".join(texts))]


def _pkill(call: Call) -> Iterable[Outcome]:
    if any(value.text in (".", ".*", "init", "systemd", "") for value in call.operands("-s -u -U -g -P")):
        return [Finding(catalogue.KILLS_EVERYTHING, " ".join(call.texts))]
    return [Finding(catalogue.STOPS_PROCESSES, " ".join(call.texts))]


def _init(call: Call) -> Iterable[Outcome]:
    return [Finding(catalogue.STOPS_MACHINE if call.texts[:1] in (["0"], ["6"]) else catalogue.STEERS_SYSTEM)]


_SYSTEMCTL_READS = names(
    "status show list-units list-unit-files is-active is-enabled is-failed cat list-timers --version"
)
_SYSTEMCTL_STOPS = names("poweroff reboot halt kexec suspend hibernate emergency rescue isolate exit")


def _systemctl(call: Call) -> Iterable[Outcome]:
    verb = next((value.text for value in call.operands("-t -p -n -o -H -M")), "")
    if verb in _SYSTEMCTL_STOPS:
        return [Finding(catalogue.STOPS_MACHINE, verb)]
    if not verb or (verb in _SYSTEMCTL_READS and not call.has("HM", "host", "machine")):
        return ()
    return [Finding(catalogue.SCHEDULES if verb in ("enable", "edit", "link") else catalogue.STEERS_SYSTEM, verb)]


def _journalctl(call: Call) -> Iterable[Outcome]:
    if call.has("", "vacuum-time", "vacuum-size", "vacuum-files", "rotate", "flush"):
        return [Finding(catalogue.HIDES_TRACKS)]
    return ()


def _mount(call: Call) -> Iterable[Outcome]:
    return [Finding(catalogue.STEERS_SYSTEM)] if call.values and call.texts != ["-l"] else ()


def _crontab(call: Call) -> Iterable[Outcome]:
    return () if call.texts == ["-l"] else [Finding(catalogue.SCHEDULES)]


def _disks(call: Call) -> Iterable[Outcome]:
    return () if call.texts in (["-l"], ["--list"]) else [Finding(catalogue.FORMATS_DISK, " ".join(call.texts))]


_STEERING_VARIABLES = names(
    "PATH LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH BASH_ENV ENV "
    "PROMPT_COMMAND PS0 PS1 PS2 PS4 SHELLOPTS BASHOPTS IFS CDPATH EDITOR VISUAL PAGER BROWSER MANPAGER "
    "LESSOPEN LESSCLOSE GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF "
    "GIT_ASKPASS SSH_ASKPASS GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_DIR GIT_WORK_TREE GIT_CONFIG "
    "GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_PROXY_COMMAND "
    "PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONINSPECT NODE_OPTIONS NODE_PATH PERL5OPT PERL5LIB PERL5DB "
    "RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS CLASSPATH HOME ZDOTDIR SHELL http_proxy https_proxy "
    "HTTP_PROXY HTTPS_PROXY ALL_PROXY PIP_INDEX_URL npm_config_registry RIPGREP_CONFIG_PATH CARGO_HOME "
    "RUSTC_WRAPPER TAR_OPTIONS MAKEFLAGS MAKEFILES CC CXX LD DOCKER_HOST KUBECONFIG GREP_OPTIONS "
    "POSIXLY_CORRECT BASH_FUNC EXINIT VIMINIT AWKPATH AWKLIBPATH"
)
_HARMLESS_SETTINGS = names("cat less more  true never nano vi vim")


def assigns(call: Call, name: str, value: Value) -> list[Outcome]:
    """What to say about a variable that is set for a command or for good."""
    if name.startswith("HIST"):
        return [Finding(catalogue.HIDES_TRACKS, name)]
    if name in _STEERING_VARIABLES or name.startswith(("GIT_CONFIG_", "BASH_FUNC_", "LD_", "DYLD_")):
        if name.endswith(("PAGER", "EDITOR")) and value.known and value.text in _HARMLESS_SETTINGS:
            return []
        if name in ("IFS",) and value.known and value.text in (",", ":", "\n", "", "\t", "|", ";", " "):
            return []
        found: list[Outcome] = [Finding(catalogue.STEERS_SHELL, name)]
        if value.known and (
            " " in value.text or name.endswith(("COMMAND", "PAGER", "EDITOR", "SSH", "DIFF", "ASKPASS", "ENV"))
        ):
            found.append(InnerScript(value.text))
        return found
    return []


def _secret_tool(call: Call) -> Iterable[Outcome]:
    return () if call.texts in (["--version"], ["version"], ["--help"]) else [Finding(catalogue.SECRET_STORE)]


def _openssl(call: Call) -> Iterable[Outcome]:
    verb = call.texts[:1]
    if verb == ["version"] or (verb in (["dgst"], ["rand"]) and not call.has("", "out")):
        return ()
    if verb in (["s_client"], ["s_server"]):
        return [Finding(catalogue.REMOTE_SHELL)]
    return [Finding(catalogue.SECRET_STORE)]


def _table() -> dict[str, Handler]:
    groups: dict[str, Handler] = {
        "shutdown reboot halt poweroff": always(catalogue.STOPS_MACHINE),
        "mkfs mke2fs mkswap wipefs blkdiscard sgdisk mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs "
        "mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs "
        "mkfs.f2fs hdparm cryptsetup lvremove vgremove pvremove zpool newfs": always(catalogue.FORMATS_DISK),
        "fdisk parted cfdisk sfdisk gdisk diskutil": _disks,
        "umount losetup swapoff swapon modprobe insmod rmmod kexec sysctl iptables ip6tables nft ufw "
        "firewall-cmd ifconfig route useradd "
        "adduser userdel usermod groupadd groupdel passwd chpasswd chsh visudo vipw timedatectl "
        "hostnamectl setenforce update-alternatives "
        "ldconfig update-grub grub-install launchctl defaults networksetup csrutil spctl dscl nmcli "
        "tc brctl auditctl setterm loadkeys "
        "service rc-service update-rc.d telinit debugfs efibootmgr": always(catalogue.STEERS_SYSTEM),
        "at batch anacron": always(catalogue.SCHEDULES),
        "gpg gpg2 pass secret-tool keyring security ssh-add ssh-keygen op bw lpass vault age sops "
        "kinit chage ssh-agent": _secret_tool,
        "killall pkill skill": _pkill,
    }
    table = {name: handler for listed, handler in groups.items() for name in listed.split()}
    table.update(
        {
            "kill": _kill,
            "init": _init,
            "systemctl": _systemctl,
            "journalctl": _journalctl,
            "mount": _mount,
            "crontab": _crontab,
            "openssl": _openssl,
            "ulimit": always(catalogue.STEERS_SYSTEM, unless="-a"),
            "dmesg": lambda call: [Finding(catalogue.HIDES_TRACKS)] if call.has("cC", "clear") else (),
            "xdg-open": always(catalogue.RUNS_CODE),
            "open": always(catalogue.RUNS_CODE),
        }
    )
    return table


SYSTEM = _table()
