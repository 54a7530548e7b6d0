"""Equal arrays are held once, as soon as they are known to be equal."""

from __future__ import annotations

import gc

import numpy as np

import workbench as wb
from workbench import relay
from workbench.core.tensor import Tensor


def large(value: float = 1.0) -> Tensor:
    return Tensor.of(np.full((128, 256), value, np.float32))


def test_equal_large_tensors_share_one_array_and_others_do_not() -> None:
    one, other, third = large().shared(), large().shared(), large(2.0).shared()
    assert one.numpy() is other.numpy() and third.numpy() is not one.numpy()
    assert one == other and one != third
    same_bytes = Tensor.of(np.full((256, 128), 1.0, np.float32)).shared()
    assert same_bytes.numpy().shape == (256, 128) and same_bytes.numpy() is not one.numpy()
    small = [Tensor.of(np.ones(4, np.float32)).shared() for _ in range(2)]
    assert small[0].numpy() is not small[1].numpy()


def test_arrays_that_look_alike_are_told_apart_and_shared_each() -> None:
    def peaked(place: int) -> Tensor:
        array = np.zeros((128, 256), np.float32)
        array[3, place] = 1.0
        return Tensor.of(array).shared()

    tensors = [peaked(place) for place in (5, 6, 7, 5, 6, 7)]
    assert len({tensor.look for tensor in tensors}) == 1, "their samples hold no peak"
    arrays = [tensor.numpy() for tensor in tensors]
    assert all(one is again for one, again in zip(arrays[:3], arrays[3:], strict=True))
    assert len({id(array) for array in arrays}) == 3


def test_a_fingerprint_is_of_the_bytes_whatever_their_order_in_memory() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    turned = Tensor.stored(lambda: array.T, "float32", (3, 2))
    assert turned.fingerprint == Tensor.of(array.T).fingerprint and turned.look == Tensor.of(array.T).look


def test_what_nobody_holds_is_forgotten() -> None:
    from workbench.core.tensor import _arrays

    fingerprint = large(3.0).shared().fingerprint
    gc.collect()
    assert fingerprint not in _arrays


def test_a_model_that_is_opened_again_has_the_same_weights_in_memory() -> None:
    x = relay.var("x", shape=(1, 256))
    weight = relay.const(np.random.default_rng(0).random((256, 256), np.float32))
    first, second = (
        wb.open(wb.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, relay.add(weight, weight))))).build()
        for _ in range(2)
    )
    held = [[array for _, array in model.constants if array.nbytes >= 1 << 16] for model in (first, second)]
    assert held[0] and all(np.shares_memory(one, other) for one, other in zip(*held, strict=True))
