"""Targets: parsing, canonical text, capabilities, the ambient target."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from workbench.core.errors import WorkbenchError
from workbench.target import Target, host, tag_names
from workbench.target.memory import NOMINAL
from workbench.target.tables import KINDS, PROCESSORS


@pytest.mark.parametrize(
    "text",
    [
        "llvm",
        "llvm -mcpu=znver5 -num-cores=2",
        "llvm -mcpu=cortex-a72 -mtriple=aarch64-linux-gnu -mattr=+neon,-sve",
        "cuda -arch=sm_90 -max_num_threads=1024",
        "cuda -arch=sm_80 -host='llvm -mcpu=znver4'",
        *tag_names(),
    ],
)
def test_text_round_trips(text: str) -> None:
    target = Target(text)
    assert Target(str(target)) == target
    assert str(Target(str(target))) == str(target)
    assert Target(json.dumps(target.export())) == target
    assert Target(target.export()) == target
    assert pickle.loads(pickle.dumps(target)) == target
    assert copy.deepcopy(target) is target
    assert hash(Target(str(target))) == hash(target)


def test_options_print_in_one_order() -> None:
    assert str(Target("llvm -num-cores 2 -mcpu=znver5")) == "llvm -mcpu=znver5 -num-cores=2"


def test_with_sets_the_current_target() -> None:
    assert Target.current() is None
    with Target("llvm -mcpu=znver5") as outer, Target("cuda"):
        assert Target.current() == Target("cuda")
        assert outer.kind == "llvm"
    assert Target.current() is None
    with pytest.raises(WorkbenchError, match="E-TARGET-NONE"):
        Target.current(allow_none=False)


@pytest.mark.parametrize(
    ("text", "lanes", "registers"),
    [
        ("llvm -mcpu=znver5", 16, 32),
        ("llvm -mcpu=haswell", 8, 16),
        ("llvm -mcpu=x86-64", 4, 16),
        ("llvm -mcpu=x86-64 -mattr=+avx2", 8, 16),
        ("llvm -mcpu=znver4 -mattr=-avx512f", 8, 16),
        ("llvm -mcpu=cortex-a72 -mtriple=aarch64-linux-gnu", 4, 32),
        ("llvm -mcpu=unheard-of -mtriple=aarch64-linux-gnu", 4, 32),
        ("llvm -mcpu=znver5 -vector-width=256", 8, 16),
    ],
)
def test_vector_capabilities(text: str, lanes: int, registers: int) -> None:
    target = Target(text)
    assert (target.lanes, target.vector_registers) == (lanes, registers)


def test_host_capabilities_are_positive() -> None:
    host = Target("llvm")
    assert host.is_host
    assert host.lanes in (4, 8, 16)
    assert host.threads >= 1
    assert len(host.caches) >= 2 and all(size >= 8192 for size in host.caches)
    assert host.scopes == ("global", "local")
    assert host.thread_axes == ()


def test_gpu_targets_have_scopes_and_thread_axes() -> None:
    cuda = Target("cuda")
    assert "shared" in cuda.scopes
    assert "threadIdx.x" in cuda.thread_axes
    assert cuda.keys == ("cuda", "gpu")


def test_caches_can_be_told() -> None:
    assert Target("llvm -mcpu=znver5 -l2-cache=4096").caches[1] == 4096


@pytest.mark.parametrize(
    ("given", "code", "word"),
    [
        ("lvm", "E-TARGET-KIND", "did you mean 'llvm'"),
        ("llvm -mcup=x", "E-TARGET-OPTION", "did you mean 'mcpu'"),
        ("llvm mcpu", "E-TARGET-OPTION", "not an option"),
        ("llvm -num-cores=zero", "E-TARGET-VALUE", "num-cores"),
        ("llvm -num-cores=0", "E-TARGET-VALUE", "num-cores"),
        ("llvm -num-cores=1000000000", "E-TARGET-VALUE", "1 to 65,536"),
        ("llvm -opt-level=9", "E-TARGET-VALUE", "0 to 3"),
        ("llvm -vector-width=1000000", "E-TARGET-VALUE", "0 to 2,048"),
        ("llvm -l1-cache=-1", "E-TARGET-VALUE", "0 or more"),
        ("llvm -mcpu='a", "E-TARGET-FORM", "cannot be read"),
        ("", "E-TARGET-FORM", "text"),
        (3, "E-TARGET-FORM", "text"),
        ("{", "E-TARGET-JSON", "JSON"),
        ({"kind": "cuda", "archh": "sm_90"}, "E-TARGET-OPTION", "did you mean 'arch'"),
    ],
)
def test_refusals_name_the_nearest(given: object, code: str, word: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        Target(given)
    assert caught.value.code == code
    assert word in str(caught.value)


def test_targets_are_values() -> None:
    with pytest.raises(WorkbenchError, match="E-TARGET-FROZEN"):
        Target("llvm").kind = "cuda"  # type: ignore[misc]


def test_tables_are_consistent() -> None:
    for processor in PROCESSORS.values():
        assert processor.lanes in (4, 8, 16)
        assert processor.vector_registers in (16, 32)
        assert list(processor.caches) == sorted(processor.caches)
    assert all(kind.name == name for name, kind in KINDS.items())


@pytest.mark.parametrize(
    ("told", "features", "name"),
    [
        (("AuthenticAMD", "26", "2"), "avx512f", "znver5"),
        (("AuthenticAMD", "25", "33"), "avx2", "znver3"),
        (("AuthenticAMD", "25", "97"), "avx2 avx512f", "znver4"),
        (("AuthenticAMD", "23", "49"), "avx2", "znver2"),
        (("AuthenticAMD", "23", "1"), "avx2", ""),
        (("GenuineIntel", "6", "85"), "avx512f", "skylake-avx512"),
        (("GenuineIntel", "6", "85"), "avx512f avx512vnni", "cascadelake"),
        (("GenuineIntel", "6", "143"), "avx512f", "sapphirerapids"),
        (("GenuineIntel", "6", "999"), "avx2", ""),
        (("", "", ""), "", ""),
    ],
)
def test_a_host_is_listed_under_the_name_of_its_processor(told: tuple[str, str, str], features: str, name: str) -> None:
    assert host.named(*told, frozenset(features.split())) == name
    assert not name or name in NOMINAL


def test_the_host_has_the_figures_of_its_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "known_as", lambda: "znver3")
    assert Target("llvm").nominal == NOMINAL["znver3"] and not Target("llvm").clock_is_assumed
    assert Target("llvm -mtriple=aarch64-linux-gnu").clock_is_assumed
    monkeypatch.setattr(host, "known_as", lambda: "")
    assert Target("llvm").clock_is_assumed and not Target("llvm -mcpu=znver2").clock_is_assumed
