"""The store on disk: what is in it comes back whole or not at all, whatever happens to its files and to the disk."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from workbench.core.store import CacheWarning, Disk, Store, cache_folder, encoded, file_name

KEY = {"kind": "object", "text": "a" * 64, "cpu": "znver4"}
OTHER = {"kind": "object", "text": "b" * 64, "cpu": "znver4"}
CODE = bytes(range(256)) * 20


def entry(store: Store, key: dict[str, Any] = KEY) -> Path:
    return store.path / file_name(encoded(key))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "cache")
    assert made.put(KEY, CODE)
    return made


def expect_miss(store: Store, key: dict[str, Any] = KEY) -> str:
    """A miss with one warning, which names the file; the next process's store finds a good entry again."""
    with pytest.warns(CacheWarning) as caught:
        assert store.get(key) is None
        assert store.get(key) is None
    assert len(caught) == 1
    message = str(caught[0].message)
    assert str(entry(store, key)) in message
    assert store.put(key, CODE)
    assert store.get(key) == CODE
    return message


def test_what_is_put_comes_back(store: Store) -> None:
    assert store.get(KEY) == CODE
    assert Store(store.base).get(KEY) == CODE
    assert store.get(OTHER) is None
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o700
    assert store.usage().entries == 1
    assert [name for name in os.listdir(store.path) if name.endswith(".tmp")] == []


def test_an_entry_cut_anywhere_is_a_miss(store: Store) -> None:
    whole = entry(store).read_bytes()
    for size in (*range(0, 80), *range(80, len(whole), 307), len(whole) - 1):
        entry(store).write_bytes(whole[:size])
        with pytest.warns(CacheWarning, match="cannot be used"):
            assert Store(store.base).get(KEY) is None
        assert not entry(store).exists()


def test_every_flipped_bit_is_noticed(store: Store) -> None:
    whole = entry(store).read_bytes()
    places = (*range(0, 64 + len(encoded(KEY))), *range(200, len(whole), 97), len(whole) - 1)
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        entry(store).write_bytes(bytes(damaged))
        with pytest.warns(CacheWarning, match="cannot be used"):
            assert Store(store.base).get(KEY) is None


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: b"\0" * len(data), "does not begin like"),
        (lambda data: data + b"\0", "bytes instead of"),
        (lambda data: b"", "ends after 0"),
        (lambda data: data.replace(b"OBJ-1", b"OBJ-0"), "does not begin like"),
        (lambda data: data.replace(b"znver4", b"znver5"), "checksum"),
    ],
    ids=["zeroed", "longer", "empty", "older format", "edited key"],
)
def test_damage_is_a_miss_and_is_mended(store: Store, damage: Any, said: str) -> None:
    path = entry(store)
    path.write_bytes(damage(path.read_bytes()))
    assert said in expect_miss(store)


def test_swapped_entries_are_misses(store: Store) -> None:
    store.put(OTHER, CODE[::-1])
    one, other = entry(store), entry(store, OTHER)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    assert "another key" in expect_miss(store)
    assert "another key" in expect_miss(store, OTHER)


def test_other_things_in_an_entry_s_place(store: Store, tmp_path: Path) -> None:
    secret = tmp_path / "elsewhere"
    secret.write_bytes(entry(store).read_bytes())
    entry(store).unlink()
    entry(store).symlink_to(secret)
    expect_miss(store)
    assert secret.exists()
    entry(store).unlink()
    os.mkfifo(entry(store), 0o600)
    assert "plain file" in expect_miss(Store(store.base))
    entry(store).unlink()
    entry(store).mkdir()
    with pytest.warns(CacheWarning):
        assert Store(store.base).get(KEY) is None


def test_what_others_may_write_is_not_read(store: Store) -> None:
    entry(store).chmod(0o666)
    assert "others may write" in expect_miss(store)
    store.path.chmod(0o777)
    fresh = Store(store.base)
    with pytest.warns(CacheWarning, match="WORKBENCH_CACHE_DIR") as caught:
        assert fresh.get(KEY) is None
        assert not fresh.put(OTHER, CODE)
    assert len(caught) == 1
    store.path.chmod(0o700)
    store.base.chmod(0o777)
    with pytest.warns(CacheWarning, match="anyone may write"):
        assert Store(store.base).get(KEY) is None


def test_what_others_own_is_not_read(store: Store) -> None:
    class Foreign(Disk):
        def stat(self, file: int | Path) -> os.stat_result:
            found = super().stat(file)
            return os.stat_result((*found[:4], os.getuid() + 1, *found[5:]))

    with pytest.warns(CacheWarning, match="owned by user"):
        assert Store(store.base, disk=Foreign()).get(KEY) is None


def test_a_folder_behind_a_link_serves_if_it_is_one_s_own(store: Store, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(store.base)
    assert Store(tmp_path / "link").get(KEY) == CODE


def test_a_folder_deleted_meanwhile_is_made_again(store: Store) -> None:
    import shutil

    shutil.rmtree(store.base)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.get(KEY) is None
        assert store.put(KEY, CODE)
        assert store.get(KEY) == CODE


def test_a_shared_layer_is_only_read(store: Store) -> None:
    shared = Store(store.base, read_only=True)
    assert shared.get(KEY) == CODE
    assert not shared.put(OTHER, CODE)
    path = entry(store)
    path.write_bytes(b"x")
    with pytest.warns(CacheWarning):
        assert shared.get(KEY) is None
    assert path.exists()


def test_the_longest_unused_go_first(tmp_path: Path) -> None:
    store = Store(tmp_path, limit=40_000)
    keys = [{"kind": "object", "number": number} for number in range(20)]
    for number, key in enumerate(keys):
        store.put(key, CODE)
        os.utime(entry(store, key), (number, number))
    held = [key["number"] for key in keys if Store(tmp_path).get(key) is not None]
    assert 4 <= len(held) <= 8
    assert held == list(range(20 - len(held), 20))


def test_leftovers_are_swept(store: Store) -> None:
    old = store.path / ".1.2.3.tmp"
    old.write_bytes(b"half")
    os.utime(old, (0, 0))
    young = store.path / ".1.2.4.tmp"
    young.write_bytes(b"half")
    Store(store.base).put(OTHER, CODE)
    assert not old.exists()
    assert young.exists()


def test_clear_removes_entries_only(store: Store) -> None:
    (store.base / "libworkbench_pool.so").write_bytes(b"")
    assert store.clear().entries == 1
    assert store.usage().entries == 0
    assert (store.base / "libworkbench_pool.so").exists()


# --- a failing disk -------------------------------------------------------------------------------------------------


class FailingDisk(Disk):
    """Fails at the n-th call of the operating system, and at all that follow if `stays`."""

    METHODS = ("open", "make_folder", "stat", "read", "write", "sync", "publish", "remove", "touch", "listed")

    def __init__(self, number: int, code: int, stays: bool) -> None:
        self.calls = 0
        for method in self.METHODS:
            setattr(self, method, self._failing(getattr(super(), method), number, code, stays))

    def _failing(self, function: Any, number: int, code: int, stays: bool) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls == number or (stays and self.calls > number):
                raise OSError(code, os.strerror(code))
            return function(*arguments, **options)

        return call


@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EIO, errno.EMFILE, errno.EROFS])
def test_a_disk_that_fails_at_any_call(tmp_path: Path, code: int, stays: bool) -> None:
    probe = FailingDisk(10**6, code, False)
    rounds(Store(tmp_path / "probe", disk=probe))
    assert probe.calls > 20
    for number in range(1, probe.calls + 1):
        folder = tmp_path / f"{number}"
        good = Store(folder)
        good.put(KEY, CODE)
        disk = FailingDisk(number, code, stays)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = rounds(Store(folder, disk=disk))
        assert set(found) <= {CODE, CODE[::-1], None}
        assert len({str(warning.message) for warning in caught}) == len(caught) <= 3
        assert all(os.strerror(code) in str(warning.message) for warning in caught)
        if not stays:
            assert good.put(KEY, CODE)
            assert good.get(KEY) == CODE


def rounds(store: Store) -> list[bytes | None]:
    found = [store.get(KEY), store.get(OTHER)]
    store.put(OTHER, CODE[::-1])
    store.put(KEY, CODE)
    return [*found, store.get(OTHER), store.get(KEY)]


def test_a_short_write_is_carried_on(tmp_path: Path) -> None:
    class Slow(Disk):
        def write(self, file: int, data: memoryview) -> int:
            return super().write(file, data[:100])

        def read(self, file: int, into: memoryview) -> int:
            return super().read(file, into[:77])

    store = Store(tmp_path, disk=Slow())
    store.put(KEY, CODE)
    assert store.get(KEY) == CODE


def test_a_full_disk_is_said_once_with_what_to_do(tmp_path: Path) -> None:
    class Full(Disk):
        def write(self, file: int, data: memoryview) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store = Store(tmp_path, disk=Full())
    with pytest.warns(CacheWarning) as caught:
        assert not store.put(KEY, CODE)
        assert not store.put(OTHER, CODE)
    assert len(caught) == 1
    assert "No space left" in str(caught[0].message)
    assert "WORKBENCH_CACHE_DIR" in str(caught[0].message)
    assert list(store.path.iterdir()) == []


# --- several processes ----------------------------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from workbench.core.store import Store
store = Store(Path(sys.argv[1]))
print("ready", flush=True)
for turn in range(int(sys.argv[2])):
    for number in range(8):
        key = {"number": number, "turn": turn}
        code = store.get(key)
        assert code in (None, bytes([number]) * 50_000), "torn"
        store.put(key, bytes([number]) * 50_000)
print("done", flush=True)
"""


def writer(folder: Path, turns: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", WRITER, str(folder), str(turns)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )


def test_eight_processes_write_the_same_entries(tmp_path: Path) -> None:
    running = [writer(tmp_path, 4) for _ in range(8)]
    for process in running:
        out, err = process.communicate(timeout=50)
        assert out.endswith("done\n"), err
    store = Store(tmp_path)
    assert store.usage().entries == 32
    assert not list(store.path.glob("*.tmp"))


def test_a_killed_writer_leaves_nothing_wrong(tmp_path: Path) -> None:
    for delay in (0.0, 0.001, 0.003, 0.006, 0.01, 0.02):
        process = writer(tmp_path, 400)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store = Store(tmp_path)
        for turn in range(400):
            for number in range(8):
                assert store.get({"number": number, "turn": turn}) in (None, bytes([number]) * 50_000)
    assert store.usage().entries > 0


# --- where ----------------------------------------------------------------------------------------------------------


def test_where_the_cache_lies() -> None:
    assert cache_folder({"WORKBENCH_CACHE_DIR": "/c", "HOME": "/h"}) == Path("/c")
    assert cache_folder({"XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/x/workbench")
    if sys.platform == "linux":
        assert cache_folder({"HOME": "/h", "XDG_CACHE_HOME": "relative"}) == Path("/h/.cache/workbench")
    assert cache_folder({}) is None
