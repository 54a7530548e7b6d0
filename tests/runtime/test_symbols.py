"""C functions of libraries that were loaded for compiled code."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from workbench.core.errors import WorkbenchError
from workbench.runtime import symbols
from workbench.runtime.native.build import find_compiler


def test_a_library_compiled_again_is_loaded_again(tmp_path: Path) -> None:
    """The linker knows the path: the functions of the first version were found for ever."""
    compiler = find_compiler()
    assert compiler is not None
    source, library = tmp_path / "seven.c", tmp_path / "seven.so"
    for number in (7, 8):
        library.unlink(missing_ok=True)
        source.write_text(f"int workbench_test_number(void) {{ return {number}; }}\n")
        subprocess.run([*compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        symbols.load_library(library)
        found = ctypes.CFUNCTYPE(ctypes.c_int)(symbols.address_of("workbench_test_number"))
        assert found() == number


@pytest.mark.parametrize("name", ["no-such-library.so", "/no/such/library.so"])
def test_a_library_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(WorkbenchError, match="E-EXTERN-LIBRARY"):
        symbols.load_library(name)


def test_a_library_compiled_again_finds_its_neighbours(tmp_path: Path) -> None:
    compiler = find_compiler()
    assert compiler is not None
    main, other = tmp_path / "main.c", tmp_path / "other.c"
    other.write_text("int workbench_test_other(void) { return 5; }\n")
    shared = [*compiler, "-shared", "-fPIC", "-o"]
    for number in (1, 2):
        neighbour = tmp_path / f"libother{number}.so"
        subprocess.run([*shared, str(neighbour), str(other)], check=True)
        body = f"{{ return {number} + workbench_test_other(); }}"
        main.write_text(f"int workbench_test_other(void);\nint workbench_test_main(void) {body}\n")
        library = tmp_path / "main.so"
        library.unlink(missing_ok=True)
        linked = [f"-L{tmp_path}", f"-lother{number}", "-Wl,-rpath,$ORIGIN"]
        subprocess.run([*shared, str(library), str(main), *linked], check=True)
        symbols.load_library(library)
        assert ctypes.CFUNCTYPE(ctypes.c_int)(symbols.address_of("workbench_test_main"))() == number + 5
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")], "the copy is gone"


def test_a_name_without_a_folder_is_the_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "libm.so.6").mkdir()
    monkeypatch.chdir(tmp_path)
    symbols.load_library("libm.so.6")
