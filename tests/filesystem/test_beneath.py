"""Whatever lies beneath a folder, and whatever name is asked for: nothing outside it is opened."""

import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openagent.filesystem.beneath import NoRegularFileError, open_file, opened_folder, opened_root
from openagent.filesystem.handles import path_of
from openagent.filesystem.resolving import EscapeError, open_beneath, place_beneath
from openagent.filesystem.walking import walk

NAMES = ["a", "b", "c"]
steps = st.lists(st.sampled_from([*NAMES, "..", "."]), min_size=1, max_size=5).map("/".join)
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
targets = st.one_of(
    steps,
    steps.map(lambda path: f"{{root}}/{path}"),
    st.sampled_from(["{outside}", "{outside}/a", "/", "../outside/a"]),
)
things = st.lists(
    st.one_of(
        st.tuples(st.just("folder"), paths, st.just("")),
        st.tuples(st.just("file"), paths, st.just("")),
        st.tuples(st.just("link"), paths, targets),
    ),
    max_size=12,
)
usual = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def build(place: Path, made: list[tuple[str, str, str]]) -> Path:
    """A folder with all that could be made of it, and one beside it that must not be reached."""
    shutil.rmtree(place, ignore_errors=True)
    root, outside = place / "root", place / "outside"
    for folder in (root, outside, outside / "b"):
        folder.mkdir(parents=True)
    for secret in (outside / "a", outside / "b" / "c"):
        secret.write_text("outside")
    for kind, path, target in made:
        with suppress(OSError):
            if kind == "folder":
                (root / path).mkdir(parents=True)
            elif kind == "link":
                (root / path).symlink_to(target.replace("{root}", str(root)).replace("{outside}", str(outside)))
            elif not (root / path).exists() and os.path.realpath((root / path).parent).startswith(str(root)):
                (root / path).write_text("inside")
    return root


def attempt(call: Callable[[], int]) -> tuple[int, int] | None:
    """Which file was opened; None when it was refused."""
    try:
        descriptor = call()
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        return status.st_dev, status.st_ino
    finally:
        os.close(descriptor)


def inside(root: Path) -> set[tuple[int, int]]:
    found = {root, *(Path(here, name) for here, folders, files in os.walk(root) for name in (*folders, *files))}
    return {(status.st_dev, status.st_ino) for status in map(os.lstat, found)}


@usual
@given(things, steps)
def test_a_resolved_path_stays_inside_and_the_kernel_and_the_walk_agree(
    tmp_path: Path, made: list[tuple[str, str, str]], path: str
) -> None:
    root = build(tmp_path / "tree", made)
    with opened_root(root) as at:
        by_kernel = attempt(lambda: open_beneath(at, path, os.O_RDONLY))
        by_walking = attempt(lambda: open_beneath(at, path, os.O_RDONLY, kernel_resolves=False))
    assert by_kernel == by_walking
    if by_kernel is not None:
        assert by_kernel in inside(root)
        status = os.stat(root / path)
        assert by_kernel == (status.st_dev, status.st_ino)


@usual
@given(things, steps, st.booleans())
def test_a_place_to_write_to_lies_inside(
    tmp_path: Path, made: list[tuple[str, str, str]], path: str, make_parents: bool
) -> None:
    root = build(tmp_path / "tree", made)
    with opened_root(root) as at:
        try:
            place = place_beneath(at, path, make_parents=make_parents)
        except OSError:
            return
    try:
        directory = path_of(place.directory)
        assert directory == str(root) or directory.startswith(f"{root}/")
        assert os.path.normpath(root / place.real) == os.path.normpath(os.path.join(directory, place.name))
        assert not os.path.islink(os.path.join(directory, place.name))
        assert os.path.realpath(root / place.real) == os.path.normpath(root / place.real)
    finally:
        os.close(place.directory)


@usual
@given(things, steps)
def test_without_links_a_path_is_opened_as_it_is_written_or_not_at_all(
    tmp_path: Path, made: list[tuple[str, str, str]], path: str
) -> None:
    root = build(tmp_path / "tree", made)
    parent, _, name = path.rpartition("/")

    def opened() -> int:
        with opened_root(root) as at, opened_folder(at, parent) as folder:
            return open_file(folder, name)

    plain = os.path.normpath(path)
    through_links = os.path.realpath(root / plain) != str(root / plain)
    file = root / plain
    as_written = os.path.isfile(f"{root}/{path}")  # `file/.` is none, whatever it comes to
    if ".." in path.split("/") or through_links or not as_written:
        assert attempt(opened) is None
    else:
        status = file.stat()
        assert attempt(opened) == (status.st_dev, status.st_ino)


@usual
@given(things)
def test_a_walk_finds_the_regular_files_and_goes_through_no_link(
    tmp_path: Path, made: list[tuple[str, str, str]]
) -> None:
    root = build(tmp_path / "tree", made)
    expected = [
        os.path.relpath(os.path.join(here, name), root)
        for here, _, names in os.walk(root)
        for name in names
        if stat.S_ISREG(os.lstat(os.path.join(here, name)).st_mode)
    ]
    before = len(os.listdir("/proc/self/fd"))
    found = [each.path for each in walk(os.open(root, os.O_RDONLY), lambda path, name, is_folder: False)]
    assert sorted(found) == sorted(expected)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("name", ["..", "a/b", "/etc/passwd", b"a/b", b".."])
def test_a_single_name_is_no_path(tmp_path: Path, name: str | bytes) -> None:
    (tmp_path / "root" / "a").mkdir(parents=True)
    (tmp_path / "root" / "a" / "b").touch()
    with opened_root(tmp_path / "root") as at, pytest.raises(OSError, match="no single name"):
        open_file(at, name)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with opened_root(tmp_path) as at, pytest.raises(NoRegularFileError):
        open_file(at, "pipe")


def test_an_absolute_link_that_leads_out_is_an_escape(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path)
    with opened_root(tmp_path / "root") as at, pytest.raises(EscapeError):
        open_beneath(at, "link", os.O_RDONLY)
