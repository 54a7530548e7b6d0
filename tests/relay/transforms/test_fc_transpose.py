"""SimplifyFCTranspose: which weights are turned, the numbers with turned weights, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.core.module import IRModule
from workbench.relay import transform
from workbench.relay.interpret import interpret
from workbench.relay.ir import expr as e
from workbench.relay.ir.infer import infer_type
from workbench.relay.ir.script import script
from workbench.relay.ir.verify import verify
from workbench.relay.transforms.fc_transpose import transpose_weights, weights_used_transposed


def layers() -> IRModule:
    """w and v are used transposed only, u also as it is."""
    x, w, v = (relay.var(name, shape=shape) for name, shape in (("x", (2, 3)), ("w", (3, 4)), ("v", (4, 4))))
    u = relay.var("u", shape=(4, 4))
    first = relay.nn.dense(x, relay.transpose(w, axes=(1, 0)))
    second = relay.nn.dense(relay.nn.dense(first, relay.transpose(v)), relay.transpose(u, axes=(1, 0)))
    return infer_type(IRModule({"main": e.Function((x, w, v, u), relay.add(second, relay.nn.dense(first, u)))}))


def test_before_and_after(golden) -> None:
    mod = layers()
    made = transform.SimplifyFCTranspose(["w", "v", "u"])(mod)
    assert verify(made) == []
    assert [one.name_hint for one in weights_used_transposed(mod["main"])] == ["w", "v"]
    random = np.random.default_rng(0)
    params = {one.name_hint: random.normal(size=one.checked_type.concrete_shape) for one in mod["main"].params}
    params = {name: value.astype("float32") for name, value in params.items()}
    turned = transpose_weights(params, ["w", "v"])
    np.testing.assert_allclose(interpret(made, *turned.values()), interpret(mod, *params.values()), rtol=1e-6)
    golden(f"{script(mod)}\n\n{script(made)}", suffix=".py")
    assert transform.SimplifyFCTranspose("w")(made).same(made)


def test_unknown_weight_is_refused() -> None:
    with pytest.raises(WorkbenchError, match="no function has a parameter 'ww'") as caught:
        transform.SimplifyFCTranspose(["ww"])(layers())
    assert caught.value.code == "E-PASS-OPTION" and "w" in caught.value.expected
