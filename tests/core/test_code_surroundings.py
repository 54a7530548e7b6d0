"""What lies outside of a user's code and changes what it does: the environment, limits, names put into libraries."""

from __future__ import annotations

import builtins
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench import relay, te
from workbench.core.code_key import code_key, reads_environment, without_key
from workbench.core.limits import limits
from workbench.core.transform import PASSES, Sequential
from workbench.relay.ir.operator import OPERATORS


def ran(text: str) -> Any:
    """The `f` of a cell."""
    names: dict[str, Any] = {"__name__": "a_cell"}
    exec(compile(text, "cell", "exec", dont_inherit=True), names)
    return names["f"]


def set_variable(patch: pytest.MonkeyPatch, value: int) -> None:
    patch.setenv("WB_TEST_SCALE", str(value))


def set_odd(patch: pytest.MonkeyPatch, value: int) -> None:
    patch.setenv("wb-scale", str(value))


def set_whether(patch: pytest.MonkeyPatch, value: int) -> None:
    patch.delenv("WB_TEST_SCALE", raising=False)
    if value == 5:
        patch.setenv("WB_TEST_SCALE", "")


def set_limit(patch: pytest.MonkeyPatch, value: int) -> None:
    patch.setitem(vars(limits), "rewrites", value)


def set_in_library(patch: pytest.MonkeyPatch, value: int) -> None:
    patch.setattr(math, "test_scale", value, raising=False)


def set_function(patch: pytest.MonkeyPatch, value: int) -> None:
    patch.setattr(math, "test_scale", ran(f"def f(): return {value}"), raising=False)


def set_in_module_of_library(patch: pytest.MonkeyPatch, value: int) -> None:
    patch.setattr(relay.transform, "test_scale", value, raising=False)


def set_builtin(patch: pytest.MonkeyPatch, value: int) -> None:
    patch.setattr(builtins, "TEST_SCALE", value, raising=False)


READS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch, int], None]]] = {
    "environ": ("import os\ndef f(m): return m * int(os.environ['WB_TEST_SCALE'])", set_variable),
    "environ in the function": ("def f(m):\n import os\n return os.environ.get('WB_TEST_SCALE')", set_variable),
    "environ by its name": ("from os import environ\ndef f(m): return environ['WB_TEST_SCALE']", set_variable),
    "environ by another name": ("from os import environ as env\ndef f(m): return env['WB_TEST_SCALE']", set_variable),
    "getenv": ("from os import getenv\ndef f(m): return getenv('WB_TEST_SCALE')", set_variable),
    "variable in a global": ("import os\nN = 'WB_TEST_SCALE'\ndef f(m): return os.getenv(N)", set_variable),
    "variable in a default": ("import os\ndef f(m, n='WB_TEST_SCALE'): return os.getenv(n)", set_variable),
    "helper": (
        "import os\ndef g(): return [k for k in ('WB_TEST_SCALE',) if os.getenv(k)]\ndef f(m): return g()",
        set_variable,
    ),
    "getenv by another name": ("from os import getenv as g\ndef f(m): return g('WB_TEST_SCALE')", set_variable),
    "getenv that something holds": (
        "import os, functools\nG = functools.partial(os.getenv, 'WB_TEST_SCALE')\ndef f(m): return G()", set_variable,
    ),
    "getenv among Python's names": ("def f(m): return test_getenv('WB_TEST_SCALE')", set_variable),
    "bytes": ("import os\ndef f(m): return os.getenvb(b'WB_TEST_SCALE')", set_variable),
    "method": ("import os\nget = os.environ.get\ndef f(m): return get('WB_TEST_SCALE')", set_variable),
    "whether it is there": ("import os\ndef f(m): return 'WB_TEST_SCALE' in os.environ or 1", set_whether),
    "either of two is there": (
        "import os\ndef f(m): return ('WB_TEST_SCALE' if m else 'OTHER') in os.environ", set_whether,
    ),
    "variables in a list": (
        "from os import environ\nNAMES = ['WB_TEST_SCALE']\n"
        "def f(m): return [environ.get(n, 'none') for n in NAMES]", set_variable,
    ),
    "variable in a class": (
        "from os import environ\nclass C: name = 'WB_TEST_SCALE'\ndef f(m): return environ.get(C.name, 'off')",
        set_variable,
    ),
    "name given to a helper": (
        "from os import environ\ndef h(n): return environ.get(n, 'none')\ndef f(m): return h('WB_TEST_SCALE')",
        set_variable,
    ),
    "environ given to a helper": (
        "from os import environ\ndef h(e, n): return e.get(n)\ndef f(m): return h(environ, 'OTHER')", set_variable,
    ),
    "variable in a keyword's default": (
        "import os\ndef f(m, *, n='WB_TEST_SCALE'): return os.getenv(n, 'none')", set_variable,
    ),
    "environ in a keyword's default": ("import os\ndef f(m, *, e=os.environ): return e['WB_TEST_SCALE']", set_variable),
    "environ in a closure": (
        "import os\ndef make():\n env = os.environ\n return lambda m: env['WB_TEST_SCALE']\nf = make()", set_variable,
    ),
    "name that is none in Python": ("from os import environ\ndef f(m): return environ.get('wb-scale', 'x')", set_odd),
    "variable that is computed": ("import os\ndef f(m): return os.environ.get('WB_TEST_' + m)", set_variable),
    "one of two": ("import os\ndef f(m): return os.environ['OTHER' if m else 'WB_TEST_SCALE']", set_variable),
    "whole environment": ("import os\ndef f(m): return dict(os.environ)", set_variable),
    "limits": ("import workbench as wb\ndef f(m): return wb.limits.rewrites", set_limit),
    "limits by name": ("from workbench.core.limits import limits\ndef f(m): return limits.rewrites", set_limit),
    "attribute of a library": ("import math\ndef f(m): return math.test_scale", set_in_library),
    "function in a library": ("import math\ndef f(m): return math.test_scale()", set_function),
    "module in a library": (
        "from workbench import relay\ndef f(m): return relay.transform.test_scale", set_in_module_of_library,
    ),
    "name of Python's": ("def f(m): return m * TEST_SCALE", set_builtin),
}  # fmt: skip


@pytest.mark.parametrize("name", READS)
def test_what_code_reads_around_it_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the key; of what may read any variable, that it may: its key is the same whatever they say."""
    text, change = READS[name]
    monkeypatch.setattr(builtins, "test_getenv", os.getenv, raising=False)
    keys: list[str] = []
    anything = reads_environment(ran(text))
    for value in (2, 5, 2):
        change(monkeypatch, value)
        assert without_key(ran(text)) == () and reads_environment(ran(text)) == anything
        keys.append(code_key(ran(text)))
    assert keys[0] == keys[2] and (keys[0] == keys[1]) == anything
    assert not anything or change in (set_variable, set_whether)


ONE = {
    "subscript": "from os import environ\ndef f(m): return environ['WB_TEST_SCALE']",
    "get": "import os\ndef f(m, d): return os.environ.get('WB_TEST_SCALE', d)",
    "getenv": "from os import getenv as g\ndef f(m): return g('WB_TEST_SCALE', '1')",
    "whether it is there": "import os\ndef f(m): return 'WB_TEST_SCALE' in os.environ",
    "set": "import os\ndef f(m): os.environ['WB_TEST_SCALE'] = '1'",
    "none": "import os\ndef f(m): return os.path.join(m, 'environ', os.sep)",
}


@pytest.mark.parametrize("name", ONE)
def test_other_variables_of_the_environment_make_no_difference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function = ran(ONE[name])
    before = code_key(function)
    monkeypatch.setenv("WB_TEST_OTHER", "1")
    assert code_key(function) == before and not reads_environment(function)


def test_keys_are_the_same_in_another_process_with_another_environment() -> None:
    text = (
        "import os, math, numpy as np, workbench as wb\nfrom workbench import relay\n"
        "def f(m): return os.getenv('WB_TEST_SCALE'), wb.limits.rewrites, math.pi, np.inf, relay.nn.relu, len(m)\n"
    )
    program = "from tests.core.test_code_surroundings import ran\nfrom workbench.core.code_key import code_key\n"
    program += f"f = ran({text!r})\nprint(code_key(f)); f([]); print(code_key(f))"
    other = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=True,
        env={"PATH": "", "PYTHONPATH": ":".join(sys.path), "WB_TEST_OTHER": "1"},
    )  # fmt: skip
    assert other.stdout.split() == [code_key(ran(text))] * 2


CELL = """
import os, numpy as np
from workbench import relay
from workbench.core.transform import function_pass

def flag(name): return os.environ.get(name, "none")

@function_pass(opt_level=1, name="%s")
def f(func, mod, ctx):
    factor = relay.const(np.float32(%s))
    return relay.Function(func.params, relay.multiply(func.body, factor))
"""
READ = {"named": "os.environ['WB_TEST_SCALE']", "any": "flag('WB_TEST_SCALE')"}
ONES = {"x": [1.0, 1.0]}


@pytest.fixture(autouse=True)
def forget_passes() -> Iterator[None]:
    yield
    PASSES.remove("EnvironScale")


def opened() -> Any:
    x = relay.var("x", shape=(2,))
    return wb.open(relay.Function([x], x))


def scaled(session: Any) -> float:
    return float(session.run(ONES)["output_0"][0])


@pytest.mark.parametrize("read", READ)
def test_a_pass_that_reads_the_environment_runs_again_when_it_says_something_else(
    read: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = ran(CELL % ("EnvironScale", READ[read]))
    session = opened()
    monkeypatch.setenv("WB_TEST_SCALE", "2")
    doubled = session.rerun(insert={"InferType": chosen})
    assert scaled(doubled) == 2
    monkeypatch.setenv("WB_TEST_SCALE", "5")
    for again in (doubled.reload(), session.rerun(insert={"InferType": chosen})):
        assert scaled(again) == 5
    monkeypatch.setenv("WB_TEST_SCALE", "2")
    assert scaled(doubled.reload()) == 2


def test_other_variables_refuse_no_step_of_a_pass_that_may_read_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Some imports set one, and each kernel of Jupyter has a JPY_PARENT_PID of its own."""
    monkeypatch.setenv("WB_TEST_SCALE", "2")
    doubled = opened().rerun(insert={"InferType": ran(CELL % ("EnvironScale", READ["any"]))})
    state = doubled.actions, doubled.history.users_keys(doubled.actions)
    monkeypatch.setenv("WB_TEST_OTHER", "1")
    assert scaled(doubled) == 2
    doubled.save(str(tmp_path / "s.wb.json"))
    monkeypatch.setenv("WB_TEST_OTHER", "2")
    back = wb.open(str(tmp_path / "s.wb.json"))
    assert scaled(back) == scaled(doubled) == 2
    assert [one.key for one in back.actions] == [one.key for one in state[0]]
    assert not any(back.history.users_keys(back.actions)) and not any(state[1])


def test_a_pass_that_sets_variables_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WB_TEST_SCALE", raising=False)
    chosen = ran(CELL % ("EnvironScale", "os.environ.setdefault(ctx and 'WB_TEST_SCALE', '3')"))
    session = opened().rerun(insert={"InferType": chosen})
    step = session["EnvironScale"].step
    assert session["EnvironScale"].step is step and scaled(session) == 3
    monkeypatch.setenv("WB_TEST_OTHER", "1")
    assert session["EnvironScale"].step is not step


def test_a_pass_that_failed_by_the_environment_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WB_TEST_SCALE", "many")
    session = opened().rerun(insert={"InferType": ran(CELL % ("EnvironScale", READ["any"]))})
    with pytest.raises(wb.WorkbenchError, match="E-PASS-FAILED"):
        session.run(ONES)
    monkeypatch.setenv("WB_TEST_SCALE", "4")
    assert scaled(session) == 4


def test_passes_that_a_pass_is_made_of_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WB_TEST_SCALE", "2")
    inner = ran(CELL % ("EnvironScale", READ["any"]))
    session = opened().rerun(insert={"InferType": Sequential([inner, inner])})
    assert scaled(session) == 4
    monkeypatch.setenv("WB_TEST_SCALE", "3")
    assert scaled(session.reload()) == 9


LOOPS = """
import os
from workbench.core.transform import function_pass
from workbench.tir.nodes import PrimFunc

def flag(name): return os.environ.get(name, "none")

@function_pass(opt_level=0, name="Simplify", applies_to=PrimFunc)
def f(func, mod, ctx): return func.replace(attrs=func.attrs.set("note", flag("WB_TEST_SCALE")))
"""


def test_what_is_kept_by_function_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    a = te.placeholder((8,), name="A")
    session = wb.open([a, te.compute((8,), lambda i: a[i] * 2.0, name="B")]).rerun(replace={"Simplify": ran(LOOPS)})
    for value in ("2", "5", "2"):
        monkeypatch.setenv("WB_TEST_SCALE", value)
        assert session.reload()["Simplify"].after["main"].attrs["note"] == value


def test_an_operator_that_may_read_any_variable_is_the_same_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file's steps hold its key."""
    monkeypatch.setenv("WB_TEST_SCALE", "2")
    ran(OPERATOR)
    try:
        x = relay.var("x", shape=(2,))
        session = wb.open(relay.Function([x], relay.Call(OPERATORS["test.environ"](), [x])))
        assert scaled(session) == 2
        session.save(str(tmp_path / "s.wb.json"))
        monkeypatch.setenv("WB_TEST_OTHER", "1")
        back = wb.open(str(tmp_path / "s.wb.json"))
        assert scaled(back) == 2
        monkeypatch.setenv("WB_TEST_SCALE", "5")
        assert scaled(session) == scaled(back) == scaled(session.reload()) == 5
    finally:
        OPERATORS.remove("test.environ")


OPERATOR = """
import os
from workbench.arith import build
from workbench.relay.ir.operator import Fusion, Operator, operator
from workbench.topi.emit import elementwise

def flag(name): return os.environ.get(name, "none")

@operator("test.environ", override=True)
class f(Operator):
    fusion = Fusion.ELEMWISE

    def infer(self, data):
        return data

    def compute(self, data):
        return elementwise(self, lambda x: x * build.const(float(flag("WB_TEST_SCALE")), x.dtype), data)
"""
