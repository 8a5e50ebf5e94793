"""codex.config_file and config_write: a configuration on a real file system, changed safely."""

import fcntl
import os
import shutil
import socket
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kasmos_plugin.codex import config_file, config_write
from kasmos_plugin.codex.config_file import ConfigFile
from kasmos_plugin.codex.config_write import BACKUP_SUFFIX
from kasmos_plugin.codex.toml_text import BOM, ConfigProblem
from kasmos_plugin.errors import KasmosError

NOBODY = 65534
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root may change who it is")


@pytest.fixture
def codex(tmp_path: Path) -> Path:
    """The directory that the configuration lies in."""
    directory = tmp_path / "codex"
    directory.mkdir()
    return directory


@pytest.fixture
def config(codex: Path) -> Path:
    """A configuration with one line and an unusual mode."""
    path = codex / "config.toml"
    path.write_bytes(b"a = 1\n")
    path.chmod(0o640)
    return path


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory that every user can reach and write, with our state in it."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o777)
    monkeypatch.setenv("KASMOS_HOME", str(directory / "home"))
    yield directory
    shutil.rmtree(directory)


@contextmanager
def nobody() -> Iterator[None]:
    """Be another user than root, where a file's mode is no more than advice."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def add(line: str) -> Callable[[str], str]:
    return lambda text: text + line + "\n"


def names(directory: Path) -> set[str]:
    return {entry.name for entry in directory.iterdir()}


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_read_with_what_is_kept_of_it(config: Path) -> None:
    found = config.stat()
    assert config_file.read(config) == ConfigFile(
        path=config,
        target=config,
        content=b"a = 1\n",
        mode=0o640,
        inode=found.st_ino,
        owner=(found.st_uid, found.st_gid),
    )


def test_no_file_is_not_an_empty_file(codex: Path) -> None:
    """A12: nothing there, and nothing in it, are two answers."""
    path = codex / "config.toml"
    assert config_file.read(path) == ConfigFile(path, path, None, None)
    assert config_file.read(codex / "no" / "config.toml").content is None
    path.touch()
    assert config_file.read(path).content == b""


def test_bytes_become_text_as_they_are(config: Path) -> None:
    """A9, A2: neither the mark at the beginning nor a carriage return is lost."""
    config.write_bytes(b"\xef\xbb\xbfa = 1\r\nb = 2\n")
    assert config_file.read(config).text == BOM + "a = 1\r\nb = 2\n"
    change = config_write.change(config, lambda text: text.replace("1", "3"))
    assert change is not None
    assert config.read_bytes() == b"\xef\xbb\xbfa = 3\r\nb = 2\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_named(config: Path, encoding: str) -> None:
    """A9: Notepad's "Unicode" is UTF-16 with a byte-order mark."""
    content = (BOM if encoding != "utf-16" else "") + "a = 1\r\n"
    config.write_bytes(content.encode(encoding))
    with pytest.raises(ConfigProblem, match="is UTF-16; Codex reads UTF-8 only") as refused:
        config_file.read(config)
    assert refused.value.hint == f"save '{config}' as UTF-8"


def test_what_is_not_utf_8_is_refused_with_its_line(config: Path) -> None:
    config.write_bytes("a = 1\nb = 'é'\n".encode("latin-1"))
    with pytest.raises(ConfigProblem) as refused:
        config_write.change(config, add("c = 1"))
    assert (refused.value.message, refused.value.line) == (f"'{config}' line 2 is not UTF-8.", 2)
    assert config.read_bytes() == "a = 1\nb = 'é'\n".encode("latin-1")


def test_what_is_no_file_is_refused(codex: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A FIFO without a writer would keep a reader waiting for ever."""
    (codex / "directory").mkdir()
    os.mkfifo(codex / "fifo")
    monkeypatch.chdir(codex)  # A socket's path may not be long.
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
    (codex / "device").symlink_to(os.devnull)
    for name, kind in [
        ("directory", "a directory"),
        ("fifo", "a FIFO"),
        ("socket", "a socket"),
        ("device", "a device"),
    ]:
        with pytest.raises(ConfigProblem, match=f"{name}' is {kind}, not a file"):
            config_write.change(codex / name, add("b = 2"), create=True)


def test_a_file_that_cannot_be_read_is_not_an_absent_one(shared: Path) -> None:
    """A12: a program that took it for absent would write a new one in its place."""
    path = shared / "config.toml"
    path.write_bytes(b"a = 1\n")
    path.chmod(0)
    with nobody(), pytest.raises(ConfigProblem, match="cannot be read: Permission denied"):
        config_write.change(path, add("b = 2"), create=True)
    path.chmod(0o600)
    assert path.read_bytes() == b"a = 1\n"


def test_a_file_in_a_closed_directory_is_not_an_absent_one(shared: Path) -> None:
    """A12: whether there is a file cannot be told there."""
    closed = shared / "closed"
    closed.mkdir()
    closed.chmod(0)
    with nobody(), pytest.raises(ConfigProblem, match="cannot be read: Permission denied"):
        config_file.read(closed / "config.toml")
    closed.chmod(0o700)


def test_a_change_keeps_the_mode_and_backs_the_content_up(config: Path, codex: Path) -> None:
    before = config_file.read(config)
    change = config_write.change(config, add("b = 2"))
    backup = codex / "config.toml.kasmos-backup"
    assert change == config_write.Change(before, "a = 1\nb = 2\n", backup)
    assert (config.read_bytes(), mode_of(config)) == (b"a = 1\nb = 2\n", 0o640)
    assert (backup.read_bytes(), mode_of(backup)) == (b"a = 1\n", 0o640)
    config_write.change(config, add("c = 3"))
    assert (config.read_bytes(), backup.read_bytes()) == (
        b"a = 1\nb = 2\nc = 3\n",
        b"a = 1\nb = 2\n",
    )
    assert names(codex) == {"config.toml", "config.toml.kasmos-backup"}


@pytest.mark.parametrize("mode", [0o640, 0o444])
def test_the_same_text_writes_nothing(config: Path, codex: Path, mode: int) -> None:
    """A7: not even a new time of change; a read-only file is none the worse for it."""
    config.chmod(mode)
    before = config.stat()
    assert config_write.change(config, str) is None
    after = config.stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )
    assert names(codex) == {"config.toml"}


def test_an_absent_file_is_made_only_when_asked(codex: Path) -> None:
    path = codex / "config.toml"
    assert config_write.change(path, str, create=True) is None
    with pytest.raises(ConfigProblem, match="does not exist") as refused:
        config_write.change(path, add("a = 1"))
    assert "+a = 1" in refused.value.hint
    assert names(codex) == set()
    change = config_write.change(path, add("a = 1"), create=True)
    assert change == config_write.Change(ConfigFile(path, path, None, None), "a = 1\n", None)
    assert (path.read_bytes(), mode_of(path)) == (b"a = 1\n", 0o600)
    assert names(codex) == {"config.toml"}


def test_a_file_in_an_absent_directory_is_not_made(codex: Path) -> None:
    with pytest.raises(ConfigProblem, match="cannot be written: No such file or directory"):
        config_write.change(codex / "no" / "config.toml", add("a = 1"), create=True)
    assert names(codex) == set()


def test_a_chain_of_links_stays(codex: Path, tmp_path: Path) -> None:
    """A3: the file in the dotfiles is changed, and both links lead to it as before."""
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    real, middle, path = dotfiles / "codex.toml", dotfiles / "link", codex / "config.toml"
    real.write_bytes(b"a = 1\n")
    real.chmod(0o644)
    middle.symlink_to("codex.toml")
    path.symlink_to(Path("..", "dotfiles", "link"))
    before = config_file.read(path)
    assert (before.path, before.target) == (path, real)
    change = config_write.change(path, add("b = 2"))
    assert change is not None
    assert change.backup == dotfiles / "codex.toml.kasmos-backup"
    assert (str(path.readlink()), str(middle.readlink())) == ("../dotfiles/link", "codex.toml")
    assert (real.read_bytes(), mode_of(real)) == (b"a = 1\nb = 2\n", 0o644)
    assert names(codex) == {"config.toml"}
    assert names(dotfiles) == {"codex.toml", "link", "codex.toml.kasmos-backup"}
    config_write.restore(path, before)
    assert (real.read_bytes(), path.is_symlink()) == (b"a = 1\n", True)


def test_a_link_is_followed_from_where_it_really_lies(codex: Path, tmp_path: Path) -> None:
    """A3: `..` goes up from a linked directory's own place."""
    deep = tmp_path / "deep" / "er"
    deep.mkdir(parents=True)
    (tmp_path / "deep" / "real.toml").write_bytes(b"a = 1\n")
    (codex / "config.toml").write_bytes(b"")
    (codex / "linked").symlink_to(deep)
    (deep / "config.toml").symlink_to("../real.toml")
    found = config_file.read(codex / "linked" / "config.toml")
    assert (found.target, found.content) == (tmp_path / "deep" / "real.toml", b"a = 1\n")


def test_a_dangling_link_is_refused_by_name(codex: Path) -> None:
    """A3: the link that leads nowhere is named, not the one that leads to it."""
    path, middle = codex / "config.toml", codex / "middle"
    path.symlink_to("middle")
    middle.symlink_to("gone")
    with pytest.raises(ConfigProblem) as refused:
        config_write.change(path, add("a = 1"), create=True)
    assert refused.value.message == (
        f"'{middle}' is a link to '{codex / 'gone'}', which does not exist."
    )
    assert refused.value.hint == f"touch '{codex / 'gone'}', or remove the link"
    assert names(codex) == {"config.toml", "middle"}


def test_a_looping_link_is_refused_by_name(codex: Path) -> None:
    """A3: and so is a directory that a link leads back to."""
    path, other = codex / "config.toml", codex / "other"
    path.symlink_to("other")
    other.symlink_to("config.toml")
    with pytest.raises(ConfigProblem, match="' is a link that leads back to itself"):
        config_file.read(path)
    with pytest.raises(ConfigProblem, match="cannot be read: Too many levels"):
        config_file.read(path / "config.toml")


@pytest.mark.parametrize("mode", [0o444, 0o400, 0o466])
def test_a_read_only_file_is_left_to_its_owner(config: Path, codex: Path, mode: int) -> None:
    """A rename would replace it all the same, and root may write it: neither was asked for."""
    config.chmod(mode)
    with pytest.raises(ConfigProblem) as refused:
        config_write.change(config, lambda text: text + "[features]\napps = true\n")
    assert refused.value.message == f"'{config}' is read-only."
    assert refused.value.hint.startswith("make this change by hand:\n")
    assert "\n+[features]\n+apps = true" in refused.value.hint
    assert (config.read_bytes(), mode_of(config)) == (b"a = 1\n", mode)
    assert names(codex) == {"config.toml"}


def test_a_read_only_directory_is_left_alone(config: Path, codex: Path) -> None:
    codex.chmod(0o500)
    try:
        with pytest.raises(ConfigProblem, match="lies in a directory that is read-only") as refused:
            config_write.change(config, add("b = 2"))
        with pytest.raises(ConfigProblem, match="lies in a directory that is read-only"):
            config_write.restore(config, ConfigFile(config, config, None, None))
        assert names(codex) == {"config.toml"}
    finally:
        codex.chmod(0o700)
    assert "+b = 2" in refused.value.hint
    assert config.read_bytes() == b"a = 1\n"


@root_only
def test_a_directory_that_the_system_closes_is_left_alone(shared: Path) -> None:
    """Its mode says that its owner may write, and we are somebody else."""
    shared.chmod(0o755)
    (shared / "home").mkdir()
    os.chown(shared / "home", NOBODY, NOBODY)
    path = shared / "config.toml"
    path.write_bytes(b"a = 1\n")
    path.chmod(0o666)
    with nobody(), pytest.raises(ConfigProblem, match="cannot be written: Permission denied"):
        config_write.change(path, add("b = 2"))
    assert (path.read_bytes(), names(shared)) == (b"a = 1\n", {"config.toml", "home"})


@root_only
def test_the_owner_stays(config: Path) -> None:
    """With sudo, a file of the user's must not become one of root's."""
    os.chown(config, 12_345, 23_456)
    before = config_file.read(config)
    config_write.change(config, add("b = 2"))
    for path in (config, config.with_name(config.name + BACKUP_SUFFIX)):
        found = path.stat()
        assert (found.st_uid, found.st_gid, mode_of(path)) == (12_345, 23_456, 0o640)
    os.chown(config, 0, 0)
    config_write.restore(config, before)
    assert (config.stat().st_uid, config.stat().st_gid) == (12_345, 23_456)


@root_only
def test_an_owner_that_cannot_be_kept_is_a_refusal(shared: Path) -> None:
    """Another user's file is not taken over by a copy of ours, even where the directory lets us."""
    path = shared / "config.toml"
    path.write_bytes(b"a = 1\n")
    path.chmod(0o666)
    with nobody(), pytest.raises(ConfigProblem, match="belongs to user 0, group 0, which"):
        config_write.change(path, add("b = 2"))
    assert (path.read_bytes(), path.stat().st_uid) == (b"a = 1\n", 0)
    assert names(shared) == {"config.toml", "home"}


def test_what_another_program_writes_meanwhile_is_not_lost(config: Path, codex: Path) -> None:
    """A11: Codex takes no lock of ours; its new text is what gets changed."""
    seen: list[str] = []

    def edit(text: str) -> str:
        if not seen:
            config.write_bytes(b"other = 1\n")
        seen.append(text)
        return text + "b = 2\n"

    change = config_write.change(config, edit)
    assert seen == ["a = 1\n", "other = 1\n"]
    assert config.read_bytes() == b"other = 1\nb = 2\n"
    assert change is not None
    assert change.before.content == b"other = 1\n"
    assert (codex / "config.toml.kasmos-backup").read_bytes() == b"other = 1\n"


@pytest.mark.parametrize("way", ["replaced", "removed", "made", "mode", "relinked"])
def test_every_kind_of_change_underneath_is_seen(config: Path, codex: Path, way: str) -> None:
    """A11: a file of the same bytes in its place is another file, and may have another mode."""
    other = codex / "other"
    other.write_bytes(b"a = 1\n")
    other.chmod(0o604)
    calls: list[str] = []
    if way == "made":
        config.unlink()
    if way == "relinked":
        config.replace(codex / "first")
        config.symlink_to("first")

    def edit(text: str) -> str:
        calls.append(text)
        if len(calls) > 1:
            return text + "b = 2\n"
        if way in ("replaced", "made"):
            other.replace(config)
        elif way == "removed":
            config.unlink()
        elif way == "mode":
            config.chmod(0o604)
        else:
            config.unlink()
            config.symlink_to("other")
        return text + "lost = 1\n"

    change = config_write.change(config, edit, create=True)
    assert change is not None
    assert len(calls) == 2
    assert config.read_text() == calls[1] + "b = 2\n"
    assert mode_of(config) == (0o600 if way == "removed" else 0o604)
    assert not [name for name in names(codex) if name.startswith(".")]


def test_a_file_that_never_rests_is_given_up(config: Path, codex: Path) -> None:
    """A11: five attempts, and the other program's text stays."""
    calls: list[str] = []

    def edit(text: str) -> str:
        calls.append(text)
        config.write_text(f"other = {len(calls)}\n")
        return text + "b = 2\n"

    with pytest.raises(ConfigProblem, match="changed by another program at each of 5 attempts"):
        config_write.change(config, edit)
    assert len(calls) == 5
    assert config.read_bytes() == b"other = 5\n"
    assert names(codex) == {"config.toml"}


def test_many_writers_lose_nothing(config: Path, codex: Path) -> None:
    """A11: forty changes by eight writers who begin together are forty lines."""
    ready = threading.Barrier(8)

    def write(writer: int) -> None:
        ready.wait(5)
        for turn in range(5):
            config_write.change(config, add(f"w{writer}t{turn} = 1"))

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = {f"w{writer}t{turn} = 1" for writer in range(8) for turn in range(5)}
    lines = config.read_text().splitlines()
    assert (set(lines), len(lines)) == (written | {"a = 1"}, 41)
    assert names(codex) == {"config.toml", "config.toml.kasmos-backup"}


def test_a_change_is_made_under_a_private_lock(config: Path, home: Path) -> None:
    """A11: held from before the reading until after the writing, and given up at an error."""
    lock = home / "state" / "codex-config.lock"

    def take() -> None:
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def edit(text: str) -> str:
        with pytest.raises(BlockingIOError):
            take()
        return text + "b = 2\n"

    config_write.change(config, edit)
    take()
    assert (mode_of(lock), mode_of(lock.parent)) == (0o600, 0o700)
    config.chmod(0o400)
    with pytest.raises(ConfigProblem):
        config_write.change(config, edit)
    take()


def test_a_lock_that_cannot_be_opened_is_named(config: Path, home: Path) -> None:
    home.write_text("")
    with pytest.raises(KasmosError, match="lock' cannot be opened: "):
        config_write.change(config, add("b = 2"))
    assert config.read_bytes() == b"a = 1\n"


def test_a_failure_midway_leaves_everything_as_it_was(config: Path, codex: Path) -> None:
    """A directory has the backup's name: found only when both copies are written."""
    (codex / "config.toml.kasmos-backup").mkdir()
    with pytest.raises(ConfigProblem, match="cannot be written: Is a directory"):
        config_write.change(config, add("b = 2"))
    assert config.read_bytes() == b"a = 1\n"
    assert names(codex) == {"config.toml", "config.toml.kasmos-backup"}


def test_an_interrupt_leaves_no_copy_behind(
    config: Path, codex: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        config_write.change(config, add("b = 2"))
    assert (config.read_bytes(), names(codex)) == (b"a = 1\n", {"config.toml"})


@pytest.mark.parametrize("content", [b"a = 1\r\n", b"\xff\xfe no text", b""])
def test_a_file_is_put_back_with_its_mode(codex: Path, content: bytes) -> None:
    """A2: Codex's own commands turn CRLF into LF and set mode 0600."""
    path = codex / "config.toml"
    path.write_bytes(content)
    path.chmod(0o444)
    found = path.stat()
    owner = (found.st_uid, found.st_gid)
    before = ConfigFile(path, path, content, 0o444, found.st_ino, owner)
    path.unlink()
    path.write_bytes(b"\xff rewritten")
    path.chmod(0o600)
    config_write.restore(path, before)
    assert (path.read_bytes(), mode_of(path)) == (content, 0o444)
    assert names(codex) == {"config.toml"}
    inode = path.stat().st_ino
    config_write.restore(path, before)
    assert path.stat().st_ino == inode


def test_a_file_is_put_back_where_its_link_leads_now(codex: Path, tmp_path: Path) -> None:
    """A3: the dotfiles have moved meanwhile, and the link with them."""
    path, old, new = codex / "config.toml", tmp_path / "old", tmp_path / "new"
    old.mkdir()
    (old / "codex.toml").write_bytes(b"a = 1\n")
    path.symlink_to(old / "codex.toml")
    before = config_file.read(path)
    old.rename(new)
    path.unlink()
    path.symlink_to(new / "codex.toml")
    (new / "codex.toml").write_bytes(b"b = 2\n")
    config_write.restore(path, before)
    assert (path.is_symlink(), (new / "codex.toml").read_bytes()) == (True, b"a = 1\n")


def test_putting_back_locks_and_compares_too(
    config: Path, codex: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A11: another program that writes in between is met again."""
    before = config_file.read(config)
    config.write_bytes(b"b = 2\n")
    calls: list[int] = []

    def interfere(descriptor: int) -> None:
        with (home / "state" / "codex-config.lock").open() as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not calls:
            config.write_bytes(b"other = 1\n")
            config.chmod(0o604)
        calls.append(descriptor)

    monkeypatch.setattr(os, "fsync", interfere)
    config_write.restore(config, before)
    assert len(calls) == 3  # Two copies, and the directory after the second.
    assert (config.read_bytes(), mode_of(config)) == (b"a = 1\n", 0o640)
    assert names(codex) == {"config.toml"}


def test_only_the_mode_is_put_back_too(config: Path) -> None:
    before = config_file.read(config)
    config.chmod(0o600)
    config_write.restore(config, before)
    assert (config.read_bytes(), mode_of(config)) == (b"a = 1\n", 0o640)


def test_a_file_that_was_not_there_is_removed_again(codex: Path) -> None:
    path = codex / "config.toml"
    before = config_file.read(path)
    config_write.restore(path, before)
    path.write_bytes(b"a = 1\n")
    config_write.restore(path, before)
    assert names(codex) == set()


def test_a_file_that_is_gone_is_put_back(config: Path) -> None:
    before = config_file.read(config)
    config.unlink()
    config_write.restore(config, before)
    assert (config.read_bytes(), mode_of(config)) == (b"a = 1\n", 0o640)


def test_a_diff_shows_the_lines_that_change(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    before = BOM + "a = 1\r\n[features]\r\napps = false # \x1b]0;title\x07why\r\n"
    shown = config_file.diff(before, before.replace("false", "true"), path)
    assert shown == (
        f"--- {path}\n+++ {path}\n@@ -1,3 +1,3 @@\n a = 1\n [features]\n"
        "-apps = false # why\n+apps = true # why"
    )


@pytest.mark.parametrize("after", ["a = 1\n", "a = 1", "a = 1\r\n"])
def test_a_diff_of_line_ends_is_empty(after: str, tmp_path: Path) -> None:
    assert config_file.diff("a = 1\n", after, tmp_path) == ""


def test_a_diff_holds_no_control_characters() -> None:
    hostile = "\x00\x1b[31m\x9b\u202e\r\x07a\tb\n"
    shown = config_file.diff("", hostile * 2, Path("/tmp/\x1b[31m\nred"))
    assert shown.splitlines() == [
        "--- /tmp/ red",
        "+++ /tmp/ red",
        "@@ -1 +1,2 @@",
        "-",
        "+ a\tb",
        "+ a\tb",
    ]
