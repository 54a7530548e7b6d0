"""Exported libraries: round trip, the record at the end, refusals before anything is loaded."""

from __future__ import annotations

import errno
import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.codegen.support import artefact, build, function
from workbench.core.dtype import DataType
from workbench.core.errors import WorkbenchError
from workbench.runtime import artifact, load_module
from workbench.runtime.model import CompiledModel, TensorSpec
from workbench.runtime.native import build as native_build

ADD_ONE = """
def f(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
    n = T.int64()
    for i in T.parallel(n):
        B[i] = A[i] + T.float32(1.0)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "add one.so"
    build(ADD_ONE).export_library(str(path))
    return path


def resealed(data: bytes, old: bytes, new: bytes) -> bytes:
    """The library with its record changed and a checksum that fits: what another version or machine would write."""
    _, length, magic = artifact.TRAILER.unpack(data[-artifact.TRAILER.size :])
    code = data[: -artifact.TRAILER.size - length]
    record = data[len(code) : len(code) + length]
    assert old in record
    record = record.replace(old, new, 1)
    return code + record + artifact.TRAILER.pack(hashlib.sha256(code + record).digest(), len(record), magic)


def changed(source: Path, folder: Path, data: bytes) -> Path:
    path = folder / "changed.so"
    path.write_bytes(data)
    return path


def test_a_library_loads_and_runs(library: Path) -> None:
    loaded = load_module(str(library))
    a = np.arange(10, dtype="float32")
    b = np.zeros(10, "float32")
    loaded["f"](a, b)
    np.testing.assert_array_equal(b, a + 1)
    with pytest.raises(WorkbenchError, match="E-CALL-DTYPE"):
        loaded["f"](a.astype("float64"), b)
    with pytest.raises(WorkbenchError, match="E-MODULE-FUNCTION"):
        loaded["g"]
    with pytest.raises(WorkbenchError, match="E-MODULE-SOURCE"):
        loaded.get_source("ll")
    with pytest.raises(WorkbenchError, match="E-EXPORT-LOADED"):
        loaded.export_library("again.so")


def test_a_path_that_was_loaded_gives_what_it_holds_now(tmp_path: Path) -> None:
    """The dynamic linker answers a known path with what it loaded first: old code, and a good file called damaged."""
    path = tmp_path / "again.so"
    held = []
    for number in (1.0, 2.0, 3.0):
        build(ADD_ONE.replace("1.0", str(number))).export_library(str(path))
        held.append(load_module(str(path)))
        held.append(load_module(str(path)))
    build(ADD_ONE.replace("float32", "int32").replace("(1.0)", "(9)")).export_library(str(path))
    for at, loaded in enumerate([*held, load_module(str(path))]):
        dtype, expected = ("float32", 1 + at // 2) if at < len(held) else ("int32", 9)
        loaded["f"](np.zeros(4, dtype), found := np.zeros(4, dtype))
        assert (found == expected).all(), at


def test_names_of_files_that_change_places_are_followed(tmp_path: Path) -> None:
    one, other = tmp_path / "one.so", tmp_path / "other.so"
    for path, number in ((one, 1.0), (other, 2.0)):
        build(ADD_ONE.replace("1.0", str(number))).export_library(str(path))
        load_module(str(path))
    aside = one.rename(tmp_path / "aside.so")
    other.rename(one)
    aside.rename(other)
    for path, number in ((one, 2.0), (other, 1.0)):
        load_module(str(path))["f"](np.zeros(4, "float32"), found := np.zeros(4, "float32"))
        assert (found == number).all()


def test_weights_of_a_path_that_was_loaded_are_those_of_now(tmp_path: Path) -> None:
    import workbench as wb
    from workbench import relay

    path, x = tmp_path / "model.so", relay.var("x", shape=(2, 3))
    for number in (1.0, 2.0):
        weight = relay.const(np.full((4, 3), number, "float32"))
        wb.open(relay.Function([x], relay.nn.dense(x, weight))).build().export_library(str(path))
        (found,) = load_module(str(path)).run({"x": np.ones((2, 3), "float32")}).values()
        assert (found == 3 * number).all()


def test_a_library_serves_a_c_program(library: Path, tmp_path: Path) -> None:
    """The packed symbol is called from C, without Python."""
    source = tmp_path / "main.c"
    source.write_text(
        """
        #include <dlfcn.h>
        #include <stdint.h>
        #include <stdio.h>
        typedef struct { void* data; int32_t device[2]; int32_t rank; uint8_t code, bits; uint16_t lanes;
                         int64_t* shape; int64_t* strides; uint64_t offset; } tensor;
        typedef struct { int32_t type; uint32_t pad; void* value; } any;
        int main(int argc, char** argv) {
          void* library = dlopen(argv[1], RTLD_NOW);
          if (!library) { puts(dlerror()); return 2; }
          int (*f)(void*, const any*, int32_t, any*) = dlsym(library, "__tvm_ffi_f");
          float a[5] = {1, 2, 3, 4, 5}, b[5] = {0};
          int64_t shape[1] = {5};
          tensor x = {a, {1, 0}, 1, 2, 32, 1, shape, 0, 0}, y = {b, {1, 0}, 1, 2, 32, 1, shape, 0, 0};
          any arguments[2] = {{7, 0, &x}, {7, 0, &y}}, result = {0, 0, 0};
          int status = f(0, arguments, 2, &result);
          printf("%d %g %g\\n", status, b[0], b[4]);
          return 0;
        }
        """
    )
    compiler = native_build.find_compiler()
    assert compiler is not None
    program = tmp_path / "main"
    subprocess.run([*compiler, str(source), "-o", str(program), "-ldl"], check=True, timeout=60)
    output = subprocess.run([str(program), str(library)], capture_output=True, text=True, check=True, timeout=20)
    assert output.stdout.split() == ["0", "2", "6"]


def test_a_model_keeps_its_constants(tmp_path: Path) -> None:
    text = """
    def main(x: T.Buffer((4,), "float32"), w: T.Buffer((4,), "float32"), s: T.Buffer((1,), "float32"),
             y: T.Buffer((4,), "float32")):
        for i in T.serial(4):
            y[i] = x[i] * w[i] + s[0]
    """
    float32 = DataType("float32")
    weights = np.arange(4, dtype="float32")
    model = CompiledModel(
        "default",
        build({"main": function(text)}),
        inputs=(TensorSpec("x", (4,), float32),),
        outputs=(TensorSpec("y", (4,), float32),),
        constants=((TensorSpec("w", (4,), float32), weights), (TensorSpec("s", (1,), float32), np.ones(1, "float32"))),
    )
    model.export_library(str(tmp_path / "model.so"))
    loaded = load_module(tmp_path / "model.so")
    x = np.full(4, 2, "float32")
    np.testing.assert_array_equal(loaded.run({"x": x})["y"], model.run({"x": x})["y"])
    np.testing.assert_array_equal(loaded.params["w"].numpy(), weights)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda data: b"", "E-LOAD-FORMAT"),
        (lambda data: data[: len(data) // 2], "E-LOAD-FORMAT"),
        (lambda data: data[:-1], "E-LOAD-FORMAT"),
        (lambda data: b"\x89PNG" + data[4:-16] + b"not a library...", "E-LOAD-FORMAT"),
        (lambda data: data[:5000] + bytes([data[5000] ^ 1]) + data[5001:], "E-LOAD-DAMAGED"),
        (lambda data: data[:-24] + (1 << 60).to_bytes(8, "little") + data[-16:], "E-LOAD-DAMAGED"),
        (lambda data: data[:-90] + b"\xff" * 16 + data[-74:], "E-LOAD-DAMAGED"),
        (lambda data: data[:-50] + bytes([data[-50] ^ 1]) + data[-49:], "E-LOAD-DAMAGED"),
        (lambda data: bytes(5000) + data[5000:], "E-LOAD-DAMAGED"),
        (lambda data: data[:5000] + data[6000:], "E-LOAD-DAMAGED"),
        (lambda data: data.replace(b'"abi": 1', b'"abi": 9'), "E-LOAD-DAMAGED"),
        (lambda data: resealed(data, b'"abi": 1', b'"abi": 9'), "E-LOAD-ABI"),
        (lambda data: data[:-16] + b"WORKBENCH-LIB-1\n", "E-LOAD-ABI"),
        (lambda data: data[:-16] + b"WORKBENCH-LIB-9\n", "E-LOAD-ABI"),
        (lambda data: resealed(data, b'"triple": "', b'"triple": "arm_64-'), "E-LOAD-MACHINE"),
        (lambda data: resealed(data, b'"cpu_features": "', b'"cpu_features": "avx9000,'), "E-LOAD-CPU"),
        (lambda data: resealed(data, b'"functions"', b'"junctions"'), "E-LOAD-DAMAGED"),
        (lambda data: resealed(data, b'"functions": {', b'"functions": {"g": 3, '), "E-LOAD-DAMAGED"),
        (lambda data: resealed(data, b"{", b"[{"), "E-LOAD-DAMAGED"),
    ],
)
def test_damaged_files_are_refused_before_loading(library: Path, tmp_path: Path, change: object, code: str) -> None:
    path = changed(library, tmp_path, change(library.read_bytes()))  # type: ignore[operator]
    with pytest.raises(WorkbenchError) as caught:
        load_module(path)
    assert caught.value.code == code
    assert "changed.so" in str(caught.value)


def test_missing_files_and_processors(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorkbenchError, match="E-LOAD-FILE"):
        load_module(tmp_path / "none.so")
    monkeypatch.setattr(artifact, "features", lambda: frozenset({"sse2"}))
    if artifact.read_record.__module__ and b'"cpu_features": ""' not in library.read_bytes():
        with pytest.raises(WorkbenchError, match="E-LOAD-CPU"):
            load_module(library)


def test_every_flipped_bit_of_a_library_is_noticed(library: Path, tmp_path: Path) -> None:
    data = library.read_bytes()
    path = tmp_path / "changed.so"
    for place in (*range(0, len(data), 997), *range(len(data) - 400, len(data))):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
        with pytest.raises(WorkbenchError, match=r"is damaged|not a library|another version"):
            artifact.read_record(path)


PLAIN_LOADER = """
import sys
import numpy as np
import tvm_ffi
function = tvm_ffi.load_module(sys.argv[1])["f"]
a, b = np.ones(64, np.float32), np.zeros(64, np.float32)
try:
    function(a, b)
except RuntimeError as error:
    print(error)
print(b[0])
"""


def test_a_processor_without_the_features_is_refused_inside_the_library(tmp_path: Path) -> None:
    """tvm-ffi loads a library without looking at its record; the library itself looks before its first kernel."""
    path = tmp_path / "f.so"
    build(ADD_ONE, "llvm -mcpu=x86-64 -mattr=+avx512fp16,+avx512vbmi,+gfni,+avx").export_library(str(path))
    data = path.read_bytes()
    needed = b"avx512vbmi,avx512fp16,gfni,avx\0"
    assert data.count(needed) == 1
    answers = []
    for features in (b"avx", b"avx512fp16"):  # stands for a list that this machine meets or not
        path.write_bytes(data.replace(needed, features.ljust(len(needed), b"\0")))
        done = subprocess.run(
            [sys.executable, "-c", PLAIN_LOADER, str(path)], capture_output=True, text=True, timeout=30, check=True
        )
        answers.append(done.stdout)
    has = {name: name in artifact.features() for name in ("avx", "avx512fp16")}
    for (name, present), answer in zip(has.items(), answers, strict=True):
        if present:
            assert answer == "2.0\n"
        else:
            assert f"E-LOAD-CPU f was compiled for another processor; found no {name}" in answer and "0.0" in answer


IN_TURN = """
import sys
import numpy as np
import tvm_ffi
functions = [tvm_ffi.load_module(path)["f"] for path in sys.argv[1:]]
a, b = np.ones(64, np.float32), np.zeros(64, np.float32)
for function in functions * 3:
    try:
        print(function(a, b) or "runs")
    except RuntimeError as error:
        print("E-LOAD-CPU" if "E-LOAD-CPU" in str(error) else error)
"""


def test_kernels_that_need_other_features_are_each_looked_at_for_their_own(tmp_path: Path) -> None:
    """What one was found to need stands for no other, in whatever order they are called."""
    path = tmp_path / "f.so"
    build(ADD_ONE, "llvm -mcpu=x86-64 -mattr=+avx512fp16,+avx512vbmi,+gfni,+avx").export_library(str(path))
    data, needed = path.read_bytes(), b"avx512vbmi,avx512fp16,gfni,avx\0"
    lists = (b"avx", b"avx512fp16", b"avx2")
    paths = [tmp_path / f"{number}.so" for number in range(len(lists))]
    for one, features in zip(paths, lists, strict=True):
        one.write_bytes(data.replace(needed, features.ljust(len(needed), b"\0")))
    done = subprocess.run(
        [sys.executable, "-c", IN_TURN, *map(str, paths)], capture_output=True, text=True, timeout=30, check=True
    )
    here = artifact.features()
    assert done.stdout.split() == ["runs" if name.decode() in here else "E-LOAD-CPU" for name in lists] * 3


def test_a_disk_without_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for where in ("shutil.copyfileobj", "workbench.runtime.export.append_record"):
        with monkeypatch.context() as patched:
            patched.setattr(where, full)
            with pytest.raises(WorkbenchError, match="No space") as caught:
                build(ADD_ONE).export_library(str(tmp_path / "f.so"))
            assert caught.value.code == "E-EXPORT-WRITE" and caught.value.fix
        assert list(tmp_path.iterdir()) == []


def test_exporting_needs_a_linker_and_a_suffix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = build(ADD_ONE)
    with pytest.raises(WorkbenchError, match="E-EXPORT-SUFFIX"):
        module.export_library(str(tmp_path / "a.dll"))
    monkeypatch.setattr(native_build, "find_compiler", lambda: None)
    with pytest.raises(WorkbenchError, match="E-LINK-NONE") as caught:
        module.export_library(str(tmp_path / "a.so"))
    assert "pip install" in caught.value.fix
    module.export_library(str(tmp_path / "a.o"))
    assert (tmp_path / "a.o").read_bytes()[:4] == b"\x7fELF"


def test_an_unwritable_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="E-EXPORT-WRITE"):
        build(ADD_ONE).export_library(str(tmp_path / "no" / "such" / "folder.so"))


@pytest.mark.parametrize(
    "target",
    [
        "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72",
        "llvm -mtriple=riscv64-linux-gnu -mattr=+m,+a,+f,+d,+c,+v -mabi=lp64d",
        "llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128",
        "llvm -mtriple=x86_64-pc-windows-msvc",
        "llvm -mcpu=x86-64",
    ],
)
def test_foreign_targets_give_objects_and_assembly(target: str) -> None:
    made = artefact(ADD_ONE, target)
    assert len(made.objects["f"]) > 200
    assert "wb_f_" in made.get_source("asm")


def test_foreign_code_does_not_run_here() -> None:
    with pytest.raises(WorkbenchError, match="E-RUN-FOREIGN"):
        build(ADD_ONE, "llvm -mtriple=aarch64-linux-gnu")["f"]


def test_unknown_triples_are_named() -> None:
    with pytest.raises(WorkbenchError, match="E-CODEGEN-TRIPLE"):
        artefact(ADD_ONE, "llvm -mtriple=pdp11-unix")
