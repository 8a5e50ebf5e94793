"""`kas monitor bundle`: a directory of ours and no other, whole, and the same each time."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kasmos_plugin.cli.bundle import write_bundle
from kasmos_plugin.errors import Conflict
from kasmos_plugin.widget import bundle_files, bundle_manifest
from kasmos_plugin.widget.bundle import MANIFEST_NAME
from tests.cli.conftest import Kas
from tests.test_docs import commands_of, problem_of

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "host"


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def stamps(directory: Path) -> dict[str, tuple[int, int]]:
    """Return what changes with any write: the file itself, and when it was written."""
    return {
        path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in directory.iterdir()
    }


def test_it_writes_the_four_files_and_names_them(kas: Kas, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "bundle"
    done = kas("monitor", "bundle", "--out", str(out))
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [str(out / name) for name in bundle_files()]
    assert content(out) == dict(bundle_files())
    assert {path.stat().st_mode & 0o777 for path in out.iterdir()} == {0o644}


def test_a_second_run_changes_nothing(kas: Kas, tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    kas("monitor", "bundle", "--out", str(out))
    before = stamps(out)
    again = kas("monitor", "bundle", "--out", str(out))
    assert (again.code, again.out, again.err) == (0, "", f"{out} is up to date\n")
    assert stamps(out) == before


def test_what_is_missing_is_written_and_the_rest_left(kas: Kas, tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    kas("monitor", "bundle", "--out", str(out))
    before = stamps(out)
    (out / "monitor.css").unlink()
    done = kas("monitor", "bundle", "--out", str(out))
    assert done.out.splitlines() == [str(out / "monitor.css")]
    after = stamps(out)
    del after["monitor.css"], before["monitor.css"]
    assert after == before


def test_as_json_it_prints_the_manifest(kas: Kas, tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    for _ in range(2):
        done = kas("monitor", "bundle", "--out", str(out), "--json")
        assert (done.code, done.err) == (0, "")
        assert done.json == json.loads((out / MANIFEST_NAME).read_text("utf-8"))


@pytest.mark.skipif(
    shutil.which("sha256sum") is None, reason="no sha256sum: the digests are NOT checked by it"
)
def test_the_digests_are_those_that_sha256sum_finds(kas: Kas, tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    files = kas("monitor", "bundle", "--out", str(out), "--json").json["files"]
    lines = "".join(f"{file['sha256']}  {file['path']}\n" for file in files)

    def check() -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["sha256sum", "--check", "--strict", "-"],
            input=lines,
            cwd=out,
            env=os.environ | {"LC_ALL": "C"},
            capture_output=True,
            text=True,
            check=False,
        )

    done = check()
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        ["monitor.js: OK", "monitor.css: OK", "index.html: OK"],
    )
    assert [file["bytes"] for file in files] == [
        (out / file["path"]).stat().st_size for file in files
    ]
    (out / "monitor.js").write_bytes(b"changed")
    assert check().returncode == 1


def test_a_directory_with_other_things_is_left_alone_and_they_are_named(
    kas: Kas, tmp_path: Path
) -> None:
    out = tmp_path / "site"
    (out / "src").mkdir(parents=True)
    (out / ".git").write_text("x", "utf-8")
    (out / "thesis.txt").write_text("mine", "utf-8")
    done = kas("monitor", "bundle", "--out", str(out))
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"error: '{out}' holds what kasmos did not write: '.git', 'src', 'thesis.txt'; "
        "nothing was written.\n"
        "hint: --out DIR, with a directory that is new, empty or a bundle\n"
    )
    assert sorted(path.name for path in out.iterdir()) == [".git", "src", "thesis.txt"]


def test_of_many_other_things_some_are_named_and_the_rest_counted(kas: Kas, tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out" / f"{number}\n\x1b[31m").touch()
    done = kas("monitor", "bundle", "--out", str(tmp_path / "out"))
    assert "'0', '1', '2', '3', '4' and 3 more; nothing" in done.err
    assert "\x1b" not in done.err


def test_a_file_of_another_that_has_a_name_of_ours_is_kept(kas: Kas, tmp_path: Path) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (out / "index.html").write_text("<h1>mine</h1>", "utf-8")
    done = kas("monitor", "bundle", "--out", str(out))
    assert (done.code, content(out)) == (1, {"index.html": b"<h1>mine</h1>"})
    assert "'index.html'" in done.err


def test_a_file_of_ours_that_a_person_changed_is_kept(kas: Kas, tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    kas("monitor", "bundle", "--out", str(out))
    (out / "index.html").write_text("<h1>mine</h1>", "utf-8")
    before = content(out)
    done = kas("monitor", "bundle", "--out", str(out))
    assert (done.code, "'index.html'" in done.err, content(out)) == (1, True, before)


@pytest.mark.parametrize("kind", ["directory", "link"])
def test_an_entry_of_our_name_that_is_no_file_is_kept(kas: Kas, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "bundle"
    out.mkdir()
    entry = out / "monitor.js"
    if kind == "directory":
        entry.mkdir()
    else:
        (tmp_path / "elsewhere").write_bytes(bundle_files()["monitor.js"])
        entry.symlink_to(tmp_path / "elsewhere")
    assert kas("monitor", "bundle", "--out", str(out)).code == 1
    assert [path.name for path in out.iterdir()] == ["monitor.js"]
    assert (entry.is_dir(), entry.is_symlink()) == (kind == "directory", kind == "link")


def older() -> dict[str, bytes]:
    """Return a bundle of another version: other content, other numbers, keys of its own."""
    files = {name: b"older " + text for name, text in bundle_files().items()}
    manifest = bundle_manifest().model_dump(mode="json") | {"contract_version": 9, "new": True}
    manifest["files"] = [
        file | {"sha256": hashlib.sha256(files[file["path"]]).hexdigest()}
        for file in manifest["files"]
    ]
    return files | {MANIFEST_NAME: json.dumps(manifest).encode()}


def test_a_bundle_of_another_version_is_replaced(kas: Kas, tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    write_bundle(out, older(), manifest=MANIFEST_NAME)
    assert kas("monitor", "bundle", "--out", str(out)).code == 0
    assert content(out) == dict(bundle_files())


def test_a_run_that_was_cut_off_is_finished_by_the_next(tmp_path: Path) -> None:
    """The manifest is written last, so that until then the old one vouches for the old files."""
    out = tmp_path / "bundle"
    write_bundle(out, older(), manifest=MANIFEST_NAME)
    (out / "monitor.js").write_bytes(bundle_files()["monitor.js"])
    written = write_bundle(out, bundle_files(), manifest=MANIFEST_NAME)
    assert [path.name for path in written] == ["monitor.css", "index.html", MANIFEST_NAME]
    assert content(out) == dict(bundle_files())


def test_what_cannot_be_written_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "bundle"
    write_bundle(out, older(), manifest=MANIFEST_NAME)

    def full(self: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(KeyboardInterrupt):
        write_bundle(out, bundle_files(), manifest=MANIFEST_NAME)
    assert content(out) == older()


def test_a_manifest_vouches_for_no_file_that_is_not_in_the_bundle(tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    files = {**bundle_files(), "more.js": b"x"}
    write_bundle(out, files, manifest=MANIFEST_NAME)
    with pytest.raises(Conflict, match=r"'more\.js'"):
        write_bundle(out, bundle_files(), manifest=MANIFEST_NAME)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_to_a_directory_is_followed(kas: Kas, tmp_path: Path, is_there: bool) -> None:
    """Fault A3."""
    if is_there:
        (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")
    assert kas("monitor", "bundle", "--out", str(link)).code == 0
    assert link.is_symlink()
    assert content(tmp_path / "real") == dict(bundle_files())


def test_what_is_no_directory_is_told_with_how_to_mend_it(kas: Kas, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", "utf-8")
    (tmp_path / "loop").symlink_to("loop")
    for out, why in (
        ("file", "is no directory"),
        ("file/below", "cannot be written: Not a directory"),
        ("loop", "is no directory"),
    ):
        done = kas("monitor", "bundle", "--out", str(tmp_path / out))
        assert (done.code, done.out, why in done.err) == (2, "", True), (out, done)
        assert "\nhint: --out DIR" in done.err
    assert kas("monitor", "bundle", "--out", "~nobody-has-this-name/x").code == 2
    assert kas("monitor", "bundle").code == 2
    assert (tmp_path / "file").read_text("utf-8") == "mine"


def test_the_commands_of_the_example_exist() -> None:
    words = list(commands_of((EXAMPLE / "README.md").read_text("utf-8")))
    assert ["monitor", "bundle", "--out", "build"] in words
    assert [problem for each in words if (problem := problem_of(each))] == []
