"""Limits as data, and the control groups they become on machines of either kind."""

from pathlib import Path

import pytest

from openagent.jail.limits import ControlGroup, Limits, make_control_group, rlimit_script
from openagent.jail.seccomp import filter_program


class FakeGroups:
    """A control group file system in ordinary files: `mkdir` there makes a folder, not the settings in it."""

    def __init__(self, root: Path, membership: str) -> None:
        self.root = root
        self.membership = root.parent / "membership"
        self.membership.write_text(membership)

    def provide(self, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> None:
        """The kernel's part: settings appear in every new group below a folder."""
        make = Path.mkdir

        def mkdir(path: Path, *args: object, **options: object) -> None:
            make(path, *args, **options)  # pyright: ignore[reportArgumentType]
            for folder, names in files.items():
                if str(path).startswith(str(self.root / folder)):
                    for name in names.split():
                        (path / name).touch()

        monkeypatch.setattr(Path, "mkdir", mkdir)


def test_a_unified_group_is_made_at_the_nearest_place_that_has_the_controllers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    root = tmp_path / "cgroup"
    own = root / "user.slice" / "app.slice" / "shell.scope"
    own.mkdir(parents=True)
    (root / "cgroup.controllers").touch()
    fake = FakeGroups(root, "0::/user.slice/app.slice/shell.scope\n")
    fake.provide(
        monkeypatch, {"user.slice/app.slice/openagent": "memory.max memory.swap.max pids.max cpu.max cgroup.procs"}
    )
    group = make_control_group(Limits(memory=1 << 30, processes=50, cpus=1.5), root=root, membership=fake.membership)
    assert group is not None
    assert (group.version, group.directories[0].parent) == (2, own.parent)
    settings = {file.name: file.read_text() for file in group.directories[0].iterdir()}
    assert settings == {
        "memory.max": str(1 << 30),
        "memory.swap.max": "0",
        "pids.max": "50",
        "cpu.max": "150000 100000",
        "cgroup.procs": "",
    }
    assert not list(own.iterdir())


def test_legacy_groups_are_made_one_per_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    root = tmp_path / "cgroup"
    for controller in ("memory/mine", "pids", "cpu"):
        (root / controller).mkdir(parents=True)
    fake = FakeGroups(root, "4:memory:/mine\n8:pids:/\n1:cpu,cpuacct:/\n0::/\n")
    fake.provide(
        monkeypatch,
        {"memory": "memory.limit_in_bytes", "pids": "pids.max", "cpu": "cpu.cfs_period_us cpu.cfs_quota_us"},
    )
    group = make_control_group(Limits(memory=1 << 20, processes=9, cpus=0.5), root=root, membership=fake.membership)
    assert group is not None
    assert group.version == 1
    assert [directory.parent for directory in group.directories] == [root / "memory/mine", root / "pids", root / "cpu"]
    assert (group.directories[0] / "memory.limit_in_bytes").read_text() == str(1 << 20)
    assert (group.directories[1] / "pids.max").read_text() == "9"
    assert (group.directories[2] / "cpu.cfs_quota_us").read_text() == "50000"


def test_where_no_group_can_be_made_nothing_is_left_and_rlimits_take_over(tmp_path: Path):
    root = tmp_path / "cgroup"
    (root / "memory").mkdir(parents=True)
    membership = tmp_path / "membership"
    membership.write_text("4:memory:/\n")
    assert make_control_group(Limits(), root=root, membership=membership) is None
    assert make_control_group(Limits(), root=root, membership=tmp_path / "missing") is None
    assert list((root / "memory").iterdir()) == []
    assert "ulimit -u 7" in rlimit_script(Limits(processes=7), grouped=False)
    assert "ulimit -u" not in rlimit_script(Limits(processes=7), grouped=True)


def test_empty_groups_of_a_daemon_that_is_gone_are_removed(tmp_path: Path):
    root = tmp_path / "cgroup"
    leftover = root / "memory" / "openagent-4194999-1"
    leftover.mkdir(parents=True)
    membership = tmp_path / "membership"
    membership.write_text("4:memory:/\n")
    make_control_group(Limits(), root=root, membership=membership)
    assert not leftover.exists()


def test_a_group_still_in_use_when_its_jail_ends_is_removed_later(tmp_path: Path):
    membership = tmp_path / "membership"
    membership.write_text("4:memory:/\n")
    directory = tmp_path / "cgroup" / "memory" / "openagent-1-1"
    (directory / "occupied").mkdir(parents=True)
    ControlGroup(1, (directory,)).retire()
    assert directory.exists()
    (directory / "occupied").rmdir()
    make_control_group(Limits(), root=tmp_path / "cgroup", membership=membership)
    assert not directory.exists()


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_jump_of_the_filter_lands_inside_it_and_it_ends_in_a_decision(machine: str):
    program = filter_program(machine)
    assert program is not None
    instructions = [program[at : at + 8] for at in range(0, len(program), 8)]
    for index, instruction in enumerate(instructions):
        code, if_true, if_false = int.from_bytes(instruction[:2], "little"), instruction[2], instruction[3]
        if code & 0x07 == 0x05:
            assert index + 1 + max(if_true, if_false) < len(instructions)
    assert int.from_bytes(instructions[-1][:2], "little") == 0x06
    assert len(instructions) < 4096


def test_an_unknown_machine_has_no_filter():
    assert filter_program("vax") is None
