"""Keys of code: cells run again have the key that they had; an edit of anything that the code reads changes it."""

from __future__ import annotations

import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.core import code_key as keys
from workbench.core.code_key import code_key, without_key
from workbench.core.module import IRModule
from workbench.core.rewrite import RuleTable
from workbench.core.transform import PASSES, Pass, module_pass
from workbench.relay.ir import expr as e
from workbench.relay.patterns import any_, op
from workbench.tir.transforms.intrinsic_rules import register_intrin_lowering, remove_intrin_lowering

EDITS = {
    "code": ("def f(m): return m + 1", "1", "2"),
    "operator": ("def f(m): return m + 1", "+", "-"),
    "called method": ("def f(m): return m.copy()", "copy", "clear"),
    "order of arguments": ("def f(m, a=1, b=2): return a", "a=1, b=2", "b=2, a=1"),
    "caught exception": ("def f(m):\n try: m()\n except KeyError: pass", "KeyError", "TypeError"),
    "global number": ("SCALE = 1\ndef f(m): return m * SCALE", "= 1", "= 2"),
    "type of a global": ("SCALE = 1\ndef f(m): return m * SCALE", "= 1", "= 1.0"),
    "sign of zero": ("SCALE = 0.0\ndef f(m): return m * SCALE", "0.0", "-0.0"),
    "global text": ("NAME = 'a'\ndef f(m): return NAME", "'a'", "'b'"),
    "dictionary": ("TABLE = {'exp': 'fast'}\ndef f(m): return TABLE[m]", "fast", "slow"),
    "nested container": ("TABLE = {'a': [({1, 2},)]}\ndef f(m): return TABLE[m]", "1, 2", "1, 3"),
    "list": ("LAYERS = [1, 2]\ndef f(m): return LAYERS", "[1, 2]", "[2, 1]"),
    "frozen set": ("NAMES = frozenset('ab')\ndef f(m): return m in NAMES", "'ab'", "'ac'"),
    "bytes": ("DATA = bytearray(b'ab')\ndef f(m): return DATA", "b'ab'", "b'ac'"),
    "array": ("import numpy as np\nA = np.arange(3)\ndef f(m): return m @ A", "(3)", "(1, 4)"),
    "array's dtype": ("import numpy as np\nA = np.zeros(3, 'f4')\ndef f(m): return m @ A", "f4", "i4"),
    "array's shape": ("import numpy as np\nA = np.zeros((2, 3))\ndef f(m): return m @ A", "2, 3", "3, 2"),
    "array of objects": ("import numpy as np\nA = np.array([1, None])\ndef f(m): return A", "1,", "2,"),
    "numpy's number": ("import numpy as np\nA = np.float32(1)\ndef f(m): return A", "(1)", "(2)"),
    "helper": ("def g(x): return x + 1\ndef f(m): return g(m)", "+ 1", "+ 2"),
    "helper of a helper": ("def h(x): return 1\ndef g(x): return h(x)\ndef f(m): return g(m)", "return 1", "return 2"),
    "constant of a helper": ("K = 1\ndef g(x): return K\ndef f(m): return g(m)", "K = 1", "K = 2"),
    "nested function": ("K = 1\ndef f(m):\n def g(): return K\n return g()", "K = 1", "K = 2"),
    "lambda": ("g = lambda x: x + 1\ndef f(m): return g(m)", "+ 1", "+ 2"),
    "comprehension": ("K = 1\ndef f(m): return [x * K for x in m]", "K = 1", "K = 2"),
    "default": ("def f(m, scale=[1]): return scale", "[1]", "[2]"),
    "keyword default": ("def f(m, *, scale={'a': 1}): return scale", "1", "2"),
    "closure": ("def make(held):\n def f(m): return held\n return f\nf = make([1])", "[1]", "[2]"),
    "closure over an array": (
        "import numpy as np\ndef make(held):\n def f(m): return held\n return f\nf = make(np.ones(2))",
        "ones",
        "zeros",
    ),
    "decorator": (
        "import functools\ndef twice(g):\n @functools.wraps(g)\n def h(m): return g(m) * 2\n return h\n"
        "@twice\ndef f(m): return m",
        "* 2",
        "* 3",
    ),
    "decorated": (
        "import functools\ndef twice(g):\n @functools.wraps(g)\n def h(m): return g(m) * 2\n return h\n"
        "@twice\ndef f(m): return m",
        "def f(m): return m",
        "def f(m): return -m",
    ),
    "cached helper": (
        "from functools import cache\n@cache\ndef g(x, k=1): return k\ndef f(m): return g(m)",
        "k=1",
        "k=2",
    ),
    "attribute of a function": ("def f(m): return f.scale\nf.scale = 1", "= 1", "= 2"),
    "attribute of a helper": ("def g(x): return g.scale\ng.scale = 1\ndef f(m): return g(m)", "= 1", "= 2"),
    "attribute of a cached helper": (
        "from functools import cache\n@cache\ndef g(x): return g.scale\ng.scale = 1\ndef f(m): return g(m)",
        "= 1",
        "= 2",
    ),
    "metaclass": (
        "class M(type):\n def __call__(self): return 1\nclass C(metaclass=M): pass\ndef f(m): return C()",
        "return 1",
        "return 2",
    ),
    "user's deque": (
        "import collections\nclass D(collections.deque): pass\nA = D([1])\ndef f(m): return A",
        "[1]",
        "[2]",
    ),
    "user's default dictionary": (
        "import collections\nclass D(collections.defaultdict): pass\nA = D(int)\ndef f(m): return A",
        "(int)",
        "(float)",
    ),
    "user's date": (
        "import datetime\nclass D(datetime.date): pass\nA = D(2020, 1, 1)\ndef f(m): return A",
        "2020",
        "2021",
    ),
    "user's flat array": (
        "import array\nclass D(array.array): pass\nA = D('i', [1])\ndef f(m): return A",
        "[1]",
        "[2]",
    ),
    "user's random numbers": (
        "import random\nclass D(random.Random): pass\nA = D(1)\ndef f(m): return A",
        "(1)",
        "(2)",
    ),
    "user's error": ("class D(Exception): pass\nA = D(1)\ndef f(m): return A", "(1)", "(2)"),
    "user's array": (
        "import numpy as np\nclass D(np.ndarray): pass\nA = np.zeros(2).view(D)\nA.scale = 1\ndef f(m): return A",
        "= 1",
        "= 2",
    ),
    "user's bytes": ("class D(bytearray): pass\nA = D(b'a')\nA.scale = 1\ndef f(m): return A", "= 1", "= 2"),
    "user's property": ("class P(property): pass\nA = P(len)\nA.scale = 1\ndef f(m): return A", "= 1", "= 2"),
    "mask": ("import numpy as np\nA = np.ma.array([1, 2], mask=[0, 1])\ndef f(m): return A", "[0, 1]", "[1, 0]"),
    "random generator": (
        "import numpy as np\nR = np.random.default_rng(0)\ndef f(m): return R.random()",
        "(0)",
        "(1)",
    ),
    "older random generator": (
        "import numpy as np\nR = np.random.RandomState(0)\ndef f(m): return R.random()",
        "(0)",
        "(1)",
    ),
    "method of a random generator": (
        "import numpy as np\nnormal = np.random.default_rng(0).normal\ndef f(m): return normal()",
        "(0)",
        "(1)",
    ),
    "view of memory": ("A = memoryview(b'abcd')[::2]\ndef f(m): return A", "abcd", "abed"),
    "format of a view of memory": ("A = memoryview(b'abcd').cast('b')\ndef f(m): return A", "'b')", "'B')"),
    "partial": ("import functools\ndef g(k, m): return k\nf = functools.partial(g, 1)", "g, 1", "g, 2"),
    "partial in a global": (
        "import functools\ndef g(k, m): return k\nh = functools.partial(g, k=1)\ndef f(m): return h(m)",
        "k=1",
        "k=2",
    ),
    "method of a helper class": (
        "class Helper:\n def go(self): return 1\ndef f(m): return Helper().go()",
        "return 1",
        "return 2",
    ),
    "attribute of a class": ("class Helper:\n K = 1\ndef f(m): return Helper.K", "K = 1", "K = 2"),
    "base class": (
        "class A:\n def go(self): return 1\nclass B(A): pass\ndef f(m): return B().go()",
        "return 1",
        "return 2",
    ),
    "property": ("class A:\n @property\n def k(self): return 1\ndef f(m): return A().k", "return 1", "return 2"),
    "cached property": (
        "import functools\nclass A:\n @functools.cached_property\n def k(self): return 1\ndef f(m): return A().k",
        "return 1",
        "return 2",
    ),
    "class method": ("class A:\n @classmethod\n def k(c): return 1\ndef f(m): return A.k()", "return 1", "return 2"),
    "static method": ("class A:\n @staticmethod\n def k(): return 1\ndef f(m): return A.k()", "return 1", "return 2"),
    "data class": (
        "import dataclasses\n@dataclasses.dataclass\nclass A:\n k: int = 1\ndef f(m): return A().k",
        "= 1",
        "= 2",
    ),
    "abstract class": (
        "import abc\nclass A(abc.ABC):\n @abc.abstractmethod\n def g(self): ...\n def k(self): return 1\n"
        "class B(A):\n def g(self): ...\ndef f(m): return B().k()",
        "return 1",
        "return 2",
    ),
    "enumeration": ("import enum\nclass A(enum.Enum):\n K = 1\ndef f(m): return A.K", "K = 1", "K = 2"),
    "member in a global": (
        "import enum\nclass A(enum.IntEnum):\n K = 1\n L = 2\nCHOSEN = A.K\ndef f(m): return CHOSEN",
        "A.K",
        "A.L",
    ),
    "named tuple": (
        "from typing import NamedTuple\nclass A(NamedTuple):\n k: int\nHELD = A(1)\ndef f(m): return HELD",
        "A(1)",
        "A(2)",
    ),
    "instance": ("class A: pass\na = A()\na.k = 1\ndef f(m): return a.k", "k = 1", "k = 2"),
    "instance with slots": (
        "class A: __slots__ = ('k',)\na = A()\na.k = 1\ndef f(m): return a.k",
        "k = 1",
        "k = 2",
    ),
    "instance's class": ("class A:\n def go(self): return 1\na = A()\ndef f(m): return a.go()", "return 1", "return 2"),
    "list of the user's": ("class L(list): pass\nL1 = L([1])\ndef f(m): return L1", "([1])", "([2])"),
    "bound method": ("class A:\n def __init__(s, k): s.k = k\n def go(s, m): return s.k\nf = A(1).go", "A(1)", "A(2)"),
    "callable instance": (
        "class A:\n def __init__(s, k): s.k = k\n def __call__(s, m): return s.k\nf = A(1)",
        "A(1)",
        "A(2)",
    ),
    "path": ("import pathlib\nP = pathlib.Path('a')\ndef f(m): return P", "'a'", "'b'"),
    "pattern": ("import re\nP = re.compile('a')\ndef f(m): return P", "'a'", "'b'"),
    "default of a dictionary": (
        "import collections\nD = collections.defaultdict(list)\ndef f(m): return D[m]",
        "(list)",
        "(dict)",
    ),
    "relay expression": (
        "from workbench import relay\nE = relay.const(1.0)\ndef f(m): return E",
        "(1.0)",
        "(2.0)",
    ),
    "tensor": ("from workbench import nd\nA = nd.array([1.0])\ndef f(m): return A", "1.0", "3.0"),
    "another pass": (
        "from workbench.core.transform import Pass, PassInfo\n"
        "other = Pass(PassInfo('other'), lambda m, c: m, {'k': 1})\ndef f(m): return other(m)",
        "1",
        "2",
    ),
}  # fmt: skip
"""What a cell says, and an edit of it."""


def ran(text: str) -> Any:
    """The `f` of a cell."""
    names: dict[str, Any] = {"__name__": "a_cell"}
    exec(compile(text, "cell", "exec", dont_inherit=True), names)
    return names["f"]


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_the_key(name: str) -> None:
    text, old, new = EDITS[name]
    assert old in text
    first, again, edited = ran(text), ran("\n\n# a remark\n" + text), ran(text.replace(old, new))
    assert without_key(first) == ()
    assert code_key(first) == code_key(again) != code_key(edited)


def test_what_is_changed_in_place_changes_the_key() -> None:
    function = ran("TABLE = {'a': [1]}\ndef f(m): return TABLE")
    before = code_key(function)
    function("m")["a"].append(2)
    assert code_key(function) != before


def test_a_random_generator_that_was_drawn_from_has_another_key() -> None:
    """What code reads of it is its state: numbers drawn elsewhere change what the code does."""
    function = ran("import numpy as np\nR = np.random.default_rng(0)\ndef f(m): return R.random()")
    before = code_key(function)
    assert code_key(function) == before
    function("m")
    assert code_key(function) != before and without_key(function) == ()


def test_keys_are_equal_in_another_process() -> None:
    """Saved sessions hold them."""
    text = (
        "import sys, json; sys.path.insert(0, '.')\n"
        "from tests.core.test_code_key import EDITS, ran\nfrom workbench.core.code_key import code_key\n"
        "print(json.dumps([code_key(ran(text)) for text, _, _ in EDITS.values()]))"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=100,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}, cwd=Path(__file__).parents[2],
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert told[0] == told[1]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """A module of the user's with a submodule."""
    made, inner = types.ModuleType("users_own"), types.ModuleType("users_own.inner")
    vars(made)["inner"] = inner
    monkeypatch.setitem(sys.modules, "users_own", made)
    monkeypatch.setitem(sys.modules, "users_own.inner", inner)
    vars(made)["K"], vars(inner)["L"], vars(made)["unasked"] = 1, 1, 1
    yield made


MODULE_TEXTS = (
    "import users_own\ndef f(m): return users_own.K + users_own.inner.L",
    "def f(m):\n import users_own\n return users_own.K + users_own.inner.L",
    "def f(m):\n from users_own import K\n from users_own.inner import L\n return K + L",
    "def make():\n import users_own as u\n def f(m): return u.K + u.inner.L\n return f\nf = make()",
)


@pytest.mark.parametrize("text", MODULE_TEXTS)
def test_attributes_of_the_users_modules(module: Any, text: str) -> None:
    function = ran(text)
    keys = [code_key(function)]
    module.unasked = 2
    assert code_key(function) == keys[0]
    module.K = 2
    keys.append(code_key(function))
    module.inner.L = 2
    keys.append(code_key(function))
    assert len(set(keys)) == 3


def test_what_has_no_key_is_never_shared_and_named() -> None:
    function = ran("import threading\nLOCK = threading.Lock()\ndef f(m):\n with LOCK: return m")
    assert code_key(function) != code_key(function)
    assert any("lock" in said for said in without_key(function))


def test_too_many_values_have_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    big = ran("BIG = [[x] for x in range(2000)]\ndef f(m): return BIG")
    assert code_key(big) == code_key(big)
    monkeypatch.setattr(keys, "MOST_VALUES", 1000)
    assert code_key(big) != code_key(big) and "1,000" in without_key(big)[0]


def test_values_that_hold_themselves() -> None:
    text = "HELD = []\nHELD.append(HELD)\nclass A: pass\nA.me = A\ndef f(m): return f, HELD, A"
    assert code_key(ran(text)) == code_key(ran(text)) and without_key(ran(text)) == ()


def test_a_chain_of_20000_cells() -> None:
    text = "held = None\nfor at in range(20_000): held = [held, LAST]\ndef f(m): return held"
    first, again, other = (code_key(ran(f"LAST = {last}\n{text}")) for last in (1, 1, 2))
    assert first == again != other


def test_rules_that_are_added_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the user's tables and of the workbench's."""
    own = RuleTable("own")

    def function(m: Any) -> Any:
        return own

    keys = [code_key(function)]
    for number in (0.0, 1.0):
        exec(
            "@own.rule('r', op('nn.relu', any_('x')))\ndef r(m): return e.const(number)",
            {"own": own, "op": op, "any_": any_, "e": e, "number": number, "__name__": "a_cell"},
        )
        keys.append(code_key(function))
    assert len(set(keys)) == 3
    from workbench.relay.transforms import fast_math

    before = PASSES["FastMath"]().code_key
    monkeypatch.setattr(fast_math.RULES, "_rules", list(fast_math.RULES))
    assert PASSES["FastMath"]().code_key == before
    fast_math.RULES.add(own["r"])
    assert PASSES["FastMath"]().code_key != before


def test_rules_for_intrinsics_are_read_by_their_pass() -> None:
    before = PASSES["LowerIntrinsics"]().code_key
    register_intrin_lowering("tir.exp", target="llvm", f=lambda call: call.args[0], level=99)
    try:
        assert PASSES["LowerIntrinsics"]().code_key != before
    finally:
        remove_intrin_lowering("tir.exp", "llvm", level=99)
    assert PASSES["LowerIntrinsics"]().code_key == before


def test_passes_of_every_make() -> None:
    """Function passes, with options, as classes: each has the key of its own code."""

    def made(scale: float) -> list[Callable[..., Any]]:
        @module_pass(name="KeyedAlone")
        def alone(mod: IRModule, ctx: Any) -> Any:
            return scale

        @module_pass(name="KeyedOptions")
        def options(mod: IRModule, ctx: Any, *, times: int = 1) -> Any:
            return scale * times

        @module_pass(name="KeyedClass")
        class Class:
            def transform_module(self, mod: IRModule, ctx: Any) -> Any:
                return scale

        return [alone, options, Class]

    try:
        first, again, edited = ([item() for item in made(scale)] for scale in (1.0, 1.0, 2.0))
        for one, other, changed in zip(first, again, edited, strict=True):
            assert isinstance(one, Pass) and one.code_key == other.code_key != changed.code_key
    finally:
        for name in ("KeyedAlone", "KeyedOptions", "KeyedClass"):
            PASSES.remove(name)


def test_every_pass_of_the_workbench_has_a_key() -> None:
    for name in filter(PASSES.is_own, PASSES):
        entry = PASSES[name]
        run = entry.function if isinstance(entry, Pass) else entry
        assert without_key(run) == () and code_key(run) == code_key(run), name


def held(value: Any) -> Callable[[Any], Any]:
    return lambda module: value


def test_a_view_of_memory_that_is_no_more_has_no_key() -> None:
    view = memoryview(b"ab")
    view.release()
    assert "memoryview" in without_key(held(view))[0]


def test_arrays_that_are_not_in_order() -> None:
    array = np.arange(6).reshape(2, 3)
    for view in (array.T, array[:, ::2], array[::-1]):
        assert code_key(held(view)) == code_key(held(view.copy()))
