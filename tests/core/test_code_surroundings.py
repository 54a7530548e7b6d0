"""What lies outside of a user's code and changes what it does: the environment, limits, names put into libraries."""

from __future__ import annotations

import builtins
import math
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench import relay
from workbench.core.code_key import code_key, without_key
from workbench.core.limits import limits
from workbench.core.transform import PASSES


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
def test_what_code_reads_around_it_is_of_its_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, change = READS[name]
    monkeypatch.setattr(builtins, "test_getenv", os.getenv, raising=False)
    keys: list[str] = []
    for value in (2, 5, 2):
        change(monkeypatch, value)
        assert without_key(ran(text)) == ()
        keys.append(code_key(ran(text)))
    assert keys[0] == keys[2] != keys[1]


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
    assert code_key(function) == before


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


def test_a_pass_that_reads_the_environment_runs_again_when_it_says_something_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = relay.var("x", shape=(2,))
    cell = (
        "import os, numpy as np\nfrom workbench import relay\nfrom workbench.core.transform import function_pass\n"
        "@function_pass(opt_level=1, name='EnvironScale')\ndef f(func, mod, ctx):\n"
        "    factor = relay.const(np.float32(os.environ['WB_TEST_SCALE']))\n"
        "    return relay.Function(func.params, relay.multiply(func.params[0], factor))\n"
    )
    given = {"x": [1.0, 1.0]}
    chosen = ran(cell)
    session = wb.open(relay.Function([x], x))
    monkeypatch.setenv("WB_TEST_SCALE", "2")
    doubled = session.rerun(insert={"InferType": chosen})
    assert doubled.run(given)["output_0"].tolist() == [2, 2]
    monkeypatch.setenv("WB_TEST_SCALE", "5")
    for again in (doubled.reload(), session.rerun(insert={"InferType": chosen})):
        assert again.run(given)["output_0"].tolist() == [5, 5]
    monkeypatch.setenv("WB_TEST_SCALE", "2")
    assert doubled.reload().run(given)["output_0"].tolist() == [2, 2]
    PASSES.remove("EnvironScale")
