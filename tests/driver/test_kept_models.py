"""Compiled models on disk: found by what they depend on, the same as compiled, refused where a user's code counts."""

from __future__ import annotations

import functools
import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import workbench as wb
from workbench import relay, te
from workbench.codegen.llvm.backend import LlvmBackend
from workbench.contrib import graph_executor
from workbench.core import breakpoints, origin, reliance, rewrite, store
from workbench.core.limits import limits
from workbench.core.node import pre_order
from workbench.core.store import CacheWarning
from workbench.core.transform import PassContext, PassInstrument
from workbench.driver import built as built_module
from workbench.driver import kept_models, pristine
from workbench.driver.kept_models import key_of
from workbench.lower.implementations import register_tiles
from workbench.relay.ir.operator import OPERATORS
from workbench.relay.op import strategy
from workbench.runtime import load_module
from workbench.schedule.rules import softmax

X = np.random.default_rng(3).standard_normal((1, 4, 6, 6)).astype("float32")
LAYERS = 11


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test, in a process in which no user has entered anything yet."""
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(reliance, "_users", [0])
    return tmp_path


def deep(seed: int = 0, name: str = "x") -> wb.IRModule:
    """A graph that is large enough to be kept: layers of a product with weights, an addition and a maximum."""
    rng = np.random.default_rng(seed)
    y: Any = (x := relay.var(name, shape=X.shape, dtype="float32"))
    for _ in range(LAYERS):
        weights = relay.const(rng.standard_normal((4, 4, 1, 1)).astype("float32") / 2)
        y = relay.nn.relu(relay.nn.conv2d(y, weights) + relay.const(np.float32(0.25)))
    return wb.IRModule.from_expr(relay.Function([x], y))


def by_numpy(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    y = X.astype("float64")
    for _ in range(LAYERS):
        weights = (rng.standard_normal((4, 4, 1, 1)).astype("float32") / 2).astype("float64")
        y = np.maximum(np.einsum("oi,nihw->nohw", weights[:, :, 0, 0], y) + 0.25, 0)
    return y


def is_kept(session: Any) -> bool:
    """Build a session, whose model is written by the time this returns; whether it was there already."""
    key = key_of(session.plan, session.step(0).stage.module, session.deciders)
    kept = kept_models.find(key, session.target) is not None
    session.build()
    written()
    return kept


def written() -> None:
    """Wait until what was built is on disk."""
    for thread in threading.enumerate():
        if thread.name == kept_models.THREAD:
            thread.join()


def computed(session: Any) -> list[str]:
    """The steps that have been computed."""
    return [step.label for step in session.history.computed(session.actions)]


def test_a_model_that_was_built_is_not_compiled_again() -> None:
    first, second = wb.open(deep()), wb.open(deep())
    assert not is_kept(first)
    assert is_kept(second)
    assert second.build() is second.build()
    assert computed(second) == ["Import"]
    for session in (first, second):
        np.testing.assert_allclose(session.run({"x": X})["output_0"], by_numpy(), rtol=1e-4, atol=1e-5)


def test_steps_that_were_looked_at_are_what_runs() -> None:
    assert not is_kept(wb.open(deep()))
    session = wb.open(deep())
    assert session.step("Codegen").stage.compiled is session.build()


def test_a_kept_model_is_whole(tmp_path: Path) -> None:
    first, session = wb.open(deep()), wb.open(deep())
    assert not is_kept(first)
    assert is_kept(session)
    made, kept = first.build(), session.build()
    assert kept.describe() == made.describe()
    assert kept.function_names == made.function_names
    assert kept.module.code == made.module.code
    for (spec, array), (other, expected) in zip(kept.constants, made.constants, strict=True):
        assert spec == other
        np.testing.assert_array_equal(array, expected)
        assert array.ctypes.data % 64 == 0
        assert not array.flags.writeable
    for form in ("tir", "ll", "asm"):
        assert kept.get_source(form) == made.get_source(form)
    loaded = load_module(kept.export_library(tmp_path / "model.so"))
    executor = graph_executor.GraphModule(kept["default"](wb.cpu(0)))
    executor.run(x=X)
    for found in (loaded.run({"x": X})["output_0"], executor.get_output(0).numpy()):
        np.testing.assert_array_equal(found, made.run({"x": X})["output_0"])
    profile = session.profile({"x": X})
    assert len(profile.calls) == len(made.calls)


def test_a_build_without_a_session_is_kept_too() -> None:
    relay.build(deep(), target="llvm")
    written()
    session = wb.open(deep())
    assert is_kept(session)
    assert computed(session) == ["Import"]


def test_texts_are_those_of_the_code_whatever_became_of_the_program() -> None:
    module = deep()
    made = relay.build(module, target="llvm")
    written()
    kept = relay.build(deep(), target="llvm")
    expected = {form: kept.get_source(form) for form in ("tir", "ll")}
    module["main"] = relay.Function([x := relay.var("x", shape=X.shape)], relay.exp(x))
    assert "exp" not in expected["tir"]
    assert {form: made.get_source(form) for form in ("tir", "ll")} == expected


def test_a_compiled_model_holds_no_weights_of_the_graph() -> None:
    module = deep()
    weights = [weakref.ref(node.data) for node in pre_order(module["main"]) if isinstance(node, relay.Constant)]
    libraries = [relay.build(module, target="llvm"), relay.build(module, target="llvm")]
    written()
    del module
    gc.collect()
    assert libraries and len(weights) > LAYERS
    assert [one for one in weights if one() is not None] == []


def test_another_process_finds_it(cache: Path) -> None:
    text = (
        "import numpy as np, workbench as wb\n"
        "from tests.driver.test_kept_models import X, deep\n"
        "s = wb.open(deep())\n"
        "print(repr(float(s.run({'x': X})['output_0'].sum())), len(s.history.computed(s.actions)) == 1)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=True)
        for _ in range(2)
    ]
    (first, compiled), (second, kept) = (run.stdout.split() for run in runs)
    assert (compiled, kept) == ("False", "True"), [run.stderr for run in runs]
    assert first == second


CHANGES: dict[str, Callable[[], Any]] = {
    "weights": lambda: wb.open(deep(1)),
    "the name of an input": lambda: wb.open(deep(name="y")),
    "a target": lambda: wb.open(deep(), target="llvm -num-cores=3"),
    "a pass left out": lambda: wb.open(deep()).rerun(disabled_pass=["FuseOps"]),
    "a pass twice": lambda: wb.open(deep()).rerun(insert={"FoldConstant": "FoldConstant"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_differs_in_anything_is_another_model(change: str) -> None:
    assert not is_kept(wb.open(deep()))
    assert not is_kept(CHANGES[change]())


def test_settings_and_limits_count(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_kept(wb.open(deep()))
    with PassContext(opt_level=2):
        assert not is_kept(wb.open(deep()))
    with PassContext(required_pass=["FastMath"]):
        assert not is_kept(wb.open(deep()))
    monkeypatch.setattr(limits, "fold_bytes", 1000)
    assert not is_kept(wb.open(deep()))
    monkeypatch.undo()


class Counting(PassInstrument):
    """Counts the passes that run."""

    runs = 0

    def run_after_pass(self, mod: Any, info: Any) -> None:
        self.runs += 1


@pytest.mark.parametrize("part", ["versions", "sources", "target", "limits", "inputs", "program", "rows", "settings"])
def test_each_part_of_the_key_counts(part: str) -> None:
    session = wb.open(deep())
    assert not is_kept(session)
    key = key_of(session.plan, session.step(0).stage.module, session.deciders)
    assert key is not None
    assert kept_models.find(key, session.target) is not None
    assert kept_models.find({**key, part: "another"}, session.target) is None


def test_the_key_says_what_the_code_is_made_for(monkeypatch: pytest.MonkeyPatch) -> None:
    session = wb.open(deep())
    module = session.step(0).stage.module
    first = key_of(session.plan, module, session.deciders)
    monkeypatch.setattr(LlvmBackend, "key_of", lambda self, target: {"llvm": "another"})
    monkeypatch.setattr(pristine, "is_patched", lambda: False)
    second = key_of(session.plan, module, session.deciders)
    assert first is not None and second is not None and first != second
    assert set(first["target"][2]) >= {"cpu", "features", "optimise", "versions"}
    assert str(session.target.caches[0]) in first["target"][1]


def test_who_watches_passes_sees_them() -> None:
    assert not is_kept(wb.open(deep()))
    watching = Counting()
    with PassContext(instruments=[watching]):
        relay.build(deep())
    assert watching.runs > 10


def test_nothing_is_kept_of_edits() -> None:
    session = wb.open(deep())
    assert not is_kept(session)
    kernel = session.kernels[0]
    found = session.candidates(kernel)
    other = next(one for one in reversed(found) if one.refusal is None)
    for change in (
        lambda it: it.choose(kernel, other.implementation.name, **other.config),
        lambda it: it.edit(schedule={kernel: it.schedule(kernel)}),
        lambda it: it.edit(relay=it.relay.script()),
    ):
        for start in (session, wb.open(deep())):
            changed = change(start)
            assert not is_kept(changed)
            np.testing.assert_allclose(changed.run({"x": X})["output_0"], by_numpy(), rtol=1e-4, atol=1e-5)


def test_what_users_enter_is_compiled_in() -> None:
    assert not is_kept(wb.open(deep()))

    def compute(attrs: Any, inputs: list[Any], out_type: Any) -> list[Any]:
        return [te.compute(out_type.shape, lambda *where: te.const(0.0, "float32"), name="mine")]

    relay.op.register_compute("nn.conv2d", compute)
    try:
        session = wb.open(deep())
        assert not is_kept(session)
        assert (session.run({"x": X})["output_0"] == 0.25).all(), "the user's own product, which is nothing"
        assert (relay.build(deep(), target="llvm").run({"x": X})["output_0"] == 0.25).all()
    finally:
        strategy.STRATEGIES.remove("nn.conv2d")


def user(*given: Any) -> None:
    """A function of a user's."""


STAND_INS: dict[str, Callable[[], Any]] = {
    "function": lambda: user,
    "remembered": lambda: functools.lru_cache(user),
    "partial": lambda: functools.partial(user, 1),
    "static": lambda: staticmethod(user),
    "mock": MagicMock,
    "class": lambda: type("Mine", (), {}),
}


@pytest.mark.parametrize("kind", STAND_INS)
def test_what_stands_in_place_of_the_workbench_s_is_seen(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not pristine.is_patched()
    own = next(name for name, value in vars(softmax).items() if getattr(value, "__module__", "") == softmax.__name__)
    monkeypatch.setattr(softmax, own, STAND_INS[kind]())
    assert pristine.is_patched()
    session = wb.open(deep())
    assert key_of(session.plan, session.step(0).stage.module, ()) is None


@pytest.mark.parametrize("made", [lambda: user, lambda: staticmethod(user), lambda: property(user)])
def test_what_stands_in_a_class_is_seen(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LlvmBackend, "available", made())
    assert pristine.is_patched()


def test_other_code_under_an_own_name_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    function = next(value for value in vars(softmax).values() if getattr(value, "__module__", "") == softmax.__name__)
    monkeypatch.setattr(function, "__code__", user.__code__)
    assert pristine.is_patched()


def test_code_that_was_run_in_an_own_module_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "of_a_cell", None, raising=False)
    exec("def of_a_cell(): pass", vars(softmax))
    assert pristine.is_patched()


def test_an_operator_of_a_user_s_class_is_compiled() -> None:
    class Mine(OPERATORS["nn.relu"]):
        """A class that nobody registered: its name alone is in the program's fingerprint."""

    module = deep()
    body = relay.Call(Mine(), (module["main"].body,))
    session = wb.open(wb.IRModule.from_expr(relay.Function(module["main"].params, body)))
    assert key_of(session.plan, session.step(0).stage.module, ()) is None


def test_steps_of_before_are_not_kept_under_a_key_of_now() -> None:
    """What was in place of something when they were computed is not in the key."""
    session = wb.open(deep())
    session.step("Lower")
    assert not is_kept(session)
    assert not is_kept(wb.open(deep()))


@pytest.mark.parametrize(
    "around", [rewrite.logging, lambda: breakpoints.budget(0), origin.recording, lambda: te.tag_scope("mine")],
    ids=["logging", "budget", "origins", "tags"],
)  # fmt: skip
def test_who_listens_around_a_build_hears_it(around: Any) -> None:
    assert not is_kept(wb.open(deep()))
    session = wb.open(deep())
    module = session.step(0).stage.module
    with around():
        assert key_of(session.plan, module, ()) is None
    assert key_of(session.plan, module, ()) is not None


def test_constants_of_a_kept_model_cannot_be_written() -> None:
    assert not is_kept(wb.open(deep()))
    kept = wb.open(deep()).build()
    for _, array in kept.constants:
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


def test_a_constant_that_was_changed_is_compiled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_kept(wb.open(deep()))
    monkeypatch.setattr(register_tiles, "LOADS", register_tiles.LOADS * 2)
    assert not pristine.is_patched(), "a number is nobody's"
    assert not is_kept(wb.open(deep())), "what was kept was made with another number"
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(Path(os.environ["WORKBENCH_CACHE_DIR"]) / "other"))
    assert not is_kept(wb.open(deep()))
    monkeypatch.undo()
    assert not is_kept(wb.open(deep()))


def test_files_written_after_they_were_read_are_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    session = wb.open(deep())
    pristine.sources_digest.cache_clear()
    monkeypatch.setattr(pristine, "IMPORTED_AT", 0.0)
    try:
        assert key_of(session.plan, session.step(0).stage.module, ()) is None
    finally:
        pristine.sources_digest.cache_clear()


def test_sources_are_known_by_place_and_text(tmp_path: Path) -> None:
    (tmp_path / "tir").mkdir()
    for place in (tmp_path / "a.py", tmp_path / "tir" / "a.py", tmp_path / "views.py"):
        place.write_text("1")
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui" / "b.py").write_text("1")
    found = {path.relative_to(tmp_path).as_posix() for path in pristine._sources(tmp_path)}
    assert found == {"a.py", "tir/a.py", "views.py"}


def test_small_models_and_caches_that_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    small = relay.var("x", shape=(4,))
    session = wb.open(wb.IRModule.from_expr(relay.Function([small], relay.nn.relu(small))))
    assert key_of(session.plan, session.step(0).stage.module, ()) is None
    monkeypatch.setenv("WORKBENCH_CACHE", "off")
    session = wb.open(deep())
    assert key_of(session.plan, session.step(0).stage.module, ()) is None


def test_a_damaged_entry_is_compiled_anew(cache: Path) -> None:
    assert not is_kept(wb.open(deep()))
    largest = max(cache.rglob("*.wb"), key=lambda path: path.stat().st_size)
    data = bytearray(largest.read_bytes())
    data[len(data) // 2] ^= 1
    largest.write_bytes(data)
    session = wb.open(deep())
    with pytest.warns(CacheWarning, match="cannot be used"):
        assert not is_kept(session)
    np.testing.assert_allclose(session.run({"x": X})["output_0"], by_numpy(), rtol=1e-4, atol=1e-5)
    assert is_kept(wb.open(deep()))


def test_threads_that_build_at_once_share_a_model() -> None:
    assert not is_kept(wb.open(deep()))
    session = wb.open(deep())
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(session.build())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(map(id, found))) == 1


def test_a_build_that_is_there_is_answered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    session = wb.open(deep())
    model = session.build()
    written()
    monkeypatch.setattr(built_module, "key_of", None)
    assert session.build() is model, "without asking what it depends on"
    reliance.changed()
    monkeypatch.undo()
    assert session.build() is not model, "a user has entered something since"


def test_a_model_that_is_too_large_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_ENTRY_LIMIT", store._KEY_LIMIT + 100)
    session = wb.open(deep())
    assert not is_kept(session)
    assert not is_kept(wb.open(deep()))


def test_a_full_disk_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_models, "_free", lambda folder: 1000)
    assert not is_kept(wb.open(deep()))
    assert not is_kept(wb.open(deep()))
