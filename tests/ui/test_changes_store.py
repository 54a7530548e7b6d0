"""The files of changes: whole or passed over, bounded, never an error."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from workbench.core import whole_file
from workbench.ui import changes_store
from workbench.ui.changes_store import ChangesStore, Saved, packed, unpacked


def files(store: ChangesStore) -> list[Path]:
    assert store.path is not None
    return sorted(store.path.iterdir())


def test_what_is_saved_is_found_and_replaced_by_the_same_screen(tmp_path: Path) -> None:
    store = ChangesStore(tmp_path)
    assert store.found("a") == [] and store.save("a", "t", {"n": 1}) == "" and store.save("a", "t", {"n": 2}) == ""
    assert store.save("a", "u", {"n": 3}) == "" and store.save("b", "t", {"n": 4}) == ""
    assert [one.document["n"] for one in store.found("a")] == [3, 2]
    assert len(files(store)) == 3 and os.stat(files(store)[0]).st_mode & 0o077 == 0
    store.forget("a", "u")
    assert [one.document["n"] for one in store.found("a")] == [2]


def test_a_file_torn_at_any_byte_or_with_any_byte_changed_is_passed_over(tmp_path: Path) -> None:
    store = ChangesStore(tmp_path)
    store.save("a", "t", {"n": "x" * 20})
    (path,) = files(store)
    whole = path.read_bytes()
    for length in range(len(whole)):
        assert unpacked(whole[:length]) is None
        assert unpacked(whole[:length] + bytes([whole[length] ^ 1]) + whole[length + 1 :]) is None
    path.write_bytes(whole[:-3])
    assert store.found("a") == [] and store.save("a", "t", {"n": 1}) == "" and len(store.found("a")) == 1


@pytest.mark.parametrize("text", [b"[1]", b"1", b"nonsense", b"[" * 100_000, b"\xff"])
def test_a_checksum_makes_no_document(text: bytes) -> None:
    import hashlib

    assert unpacked(hashlib.sha256(text).hexdigest().encode() + b"\n" + text) is None


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "", "\0", "x" * 10_000, "\ud800", "<script>", ".."])
def test_hostile_names_make_plain_files(name: str, tmp_path: Path) -> None:
    store = ChangesStore(tmp_path / "cache")
    assert store.save(name, name.replace("\ud800", ""), {"source": name}) == ""
    (found,) = store.found(name)
    assert found.document["source"] == name and found.path.parent == tmp_path / "cache" / "changes-1"
    assert [one.name for one in tmp_path.iterdir()] == ["cache"]


def test_a_link_a_folder_and_a_foreign_file_are_left_alone(tmp_path: Path) -> None:
    store = ChangesStore(tmp_path)
    store.save("a", "t", {"n": 1})
    (path,) = files(store)
    outside = tmp_path / "outside"
    outside.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(outside)
    (path.parent / "mine.txt").write_text("kept")
    assert store.found("a") == []
    path.unlink()
    path.mkdir()
    assert store.found("a") == [] and "not a plain file" in store.save("a", "t", {"n": 2})
    assert (path.parent / "mine.txt").read_text() == "kept" and outside.exists()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
def test_a_full_or_failing_disk_is_told_and_keeps_what_was_there(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ChangesStore(tmp_path)
    store.save("a", "t", {"n": 1})

    def fails(descriptor: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(whole_file.os, "fsync", fails)
    assert os.strerror(code) in store.save("a", "t", {"n": 2})
    assert [one.document["n"] for one in store.found("a")] == [1] and len(files(store)) == 1


def test_a_folder_that_others_may_write_is_not_used(tmp_path: Path) -> None:
    store = ChangesStore(tmp_path)
    store.save("a", "t", {"n": 1})
    (path,) = files(store)
    path.chmod(0o666)
    assert store.found("a") == []
    path.parent.chmod(0o777)
    assert "others may write to it" in store.save("a", "t", {"n": 2}) or os.getuid() != os.stat(path).st_uid


def test_number_size_and_age_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes_store, "FILES", 3)
    store = ChangesStore(tmp_path)
    for number in range(6):
        store.save("a", str(number), {"n": number})
        moment = time.time() - 100 + number
        os.utime(store.found("a")[0].path, (moment, moment))
    assert sorted(one.document["n"] for one in store.found("a")) == [3, 4, 5]
    monkeypatch.setattr(changes_store, "TOTAL_LIMIT", 250)
    assert store.save("a", "5", {"n": 5}) == "" and 1 <= len(files(store)) < 3
    monkeypatch.setattr(changes_store, "FILE_LIMIT", 200)
    assert "more than 200" in store.save("a", "9", {"n": "x" * 300})
    torn = files(store)[0].with_name(f".{'0' * 32}.tmp")
    torn.write_text("torn")
    for path in files(store):
        os.utime(path, (1.0, 1.0))
    store.save("b", "1", {"n": 1})
    assert len(files(store)) == 1


def test_what_is_offered_stays_as_old_as_it_was_and_what_is_gone_stays_away(tmp_path: Path) -> None:
    """It became new each time that it was offered, so that 60 days never passed."""
    store = ChangesStore(tmp_path)
    assert store.save("key", "token", {"entries": []}) == ""
    (saved,) = store.found("key")
    then = time.time() - 59 * 86_400
    os.utime(saved.path, (then, then))
    store.claim(saved, {"process": "1"})
    (claimed,) = store.found("key")
    assert claimed.document["offered"] == {"process": "1"} and claimed.path.stat().st_mtime == pytest.approx(then)
    store.drop(claimed.path)
    store.claim(claimed, {"process": "2"})
    assert store.found("key") == []


def test_two_processes_that_write_at_once_leave_whole_files(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from workbench.ui.changes_store import ChangesStore\n"
        "store = ChangesStore(Path(sys.argv[1]))\n"
        "for n in range(40):\n"
        "    for token in (sys.argv[2], 'shared'):\n"
        "        assert store.save('a', token, {'n': n, 'by': sys.argv[2], 'x': 'x' * 5000}) == ''\n"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), who]) for who in ("one", "two")]
    store, seen = ChangesStore(tmp_path), 0
    while any(process.poll() is None for process in started):
        seen = max(seen, len(store.found("a")))
        time.sleep(0.01)
    assert [process.wait() for process in started] == [0, 0]
    found = {(one.document["n"], len(one.document["x"])) for one in store.found("a")}
    assert found == {(39, 5000)} and len(store.found("a")) == 3 and len(files(store)) == 3


def test_switched_off_it_keeps_nothing(tmp_path: Path) -> None:
    for word in ("off", "0", "No"):
        store = ChangesStore.of_user({"WORKBENCH_CHANGES": word, "WORKBENCH_CACHE_DIR": str(tmp_path)})
        assert store.save("a", "t", {}) == "" and store.found("a") == []
    kept: Any = ChangesStore.of_user({"WORKBENCH_CACHE_DIR": str(tmp_path)})
    assert kept.path == tmp_path / "changes-1" and ChangesStore.of_user({}).path is None
    assert Saved(tmp_path, {"at": "junk"}).at == 0.0 and unpacked(packed({"n": 1})) == {"n": 1}
