"""The networks of relay.testing: shapes, weights, numbers, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.relay import testing
from workbench.relay.interpret import interpret
from workbench.relay.ir.verify import verify

SMALL = (3, 32, 32)
NETWORKS: dict[str, tuple[Any, tuple[int, ...], int]] = {
    "mlp": (lambda: testing.mlp.get_workload(2), (2, 10), 109_386),
    "lenet": (lambda: testing.lenet.get_workload(2), (2, 10), 61_706),
    "resnet-18": (lambda: testing.resnet.get_workload(num_layers=18, image_shape=(3, 64, 64)), (1, 1000), 11_689_512),
    "resnet-50": (lambda: testing.resnet.get_workload(num_layers=50, image_shape=(3, 64, 64)), (1, 1000), 25_557_032),
    "resnet-20-small": (lambda: testing.resnet.get_workload(1, 10, 20, SMALL), (1, 10), 272_474),
    "resnet-nhwc": (
        lambda: testing.resnet.get_workload(1, 10, 20, (32, 32, 3), layout="NHWC"),
        (1, 10),
        272_474,
    ),
    "mobilenet": (lambda: testing.mobilenet.get_workload(image_shape=SMALL), (1, 1000), 4_231_976),
    "mobilenet-nhwc": (lambda: testing.mobilenet.get_workload(image_shape=SMALL, layout="NHWC"), (1, 1000), 4_231_976),
    "squeezenet-1.0": (lambda: testing.squeezenet.get_workload(image_shape=(3, 64, 64)), (1, 1000), 1_248_424),
    "squeezenet-1.1": (
        lambda: testing.squeezenet.get_workload(version="1.1", image_shape=(3, 64, 64)),
        (1, 1000),
        1_235_496,
    ),
    "densenet-121": (lambda: testing.densenet.get_workload(batch_size=1, image_shape=SMALL), (1, 1000), 7_978_856),
    "dqn": (lambda: testing.dqn.get_workload(1), (1, 18), 1_693_362),
    "dcgan": (lambda: testing.dcgan.get_workload(1, ngf=8), (1, 3, 64, 64), None),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_typed_and_weighted(name: str) -> None:
    make, shape, parameters = NETWORKS[name]
    mod, params = make()
    assert mod["main"].checked_type.ret_type == relay.TensorType(shape)
    assert verify(mod) == []
    assert mod["main"].params[0].name_hint == "data"
    assert set(params) == {param.name_hint for param in mod["main"].params[1:]}
    weights = sum(
        array.numpy().size for key, array in params.items() if not key.endswith(("moving_mean", "moving_var"))
    )
    assert parameters is None or abs(weights - parameters) <= 0.003 * parameters, f"{weights:,} weights"
    assert all(param.type_annotation is not None for param in mod["main"].params)


@pytest.mark.slow
def test_vgg_is_typed() -> None:
    mod, params = testing.vgg.get_workload(1, num_layers=16, image_shape=SMALL)
    assert mod["main"].checked_type.ret_type == relay.TensorType((1, 1000))
    assert sum(array.numpy().size for array in params.values()) == 33_638_218 - 10 * 4097 + 1000 * 4097
    normed, more = testing.vgg.get_workload(1, num_layers=11, image_shape=SMALL, batch_norm=True)
    assert relay.analysis.list_op_freqs(normed)["nn.batch_norm"] == 8 and len(more) == 54


def test_the_same_seed_gives_the_same_weights_and_numbers() -> None:
    one, other = testing.mlp.get_workload(1), testing.mlp.get_workload(1)
    for key, value in one[1].items():
        np.testing.assert_array_equal(value.numpy(), other[1][key].numpy())
    data = np.random.default_rng(0).standard_normal((1, 1, 28, 28)).astype("float32")
    answers = interpret(one[0], {"data": data, **{key: value.numpy() for key, value in one[1].items()}})
    assert answers.shape == (1, 10) and abs(float(answers.sum()) - 1) < 1e-5


def test_a_network_by_hand_with_unwritten_types() -> None:
    data = relay.var("data", relay.TensorType((1, 3, 16, 16), "float32"))
    conv = relay.nn.conv2d(data, relay.var("weight"), kernel_size=(3, 3), channels=8, padding=(1, 1))
    vectors = [relay.var(f"bn_{role}") for role in ("gamma", "beta", "moving_mean", "moving_var")]
    net = relay.nn.relu(relay.nn.batch_norm(conv, *vectors)[0])
    mod, params = testing.create_workload(relay.Function(relay.analysis.free_vars(net), net))
    assert params["weight"].shape == (8, 3, 3, 3) and params["bn_moving_var"].numpy().tolist() == [1.0] * 8
    drawn, _ = testing.create_workload(net, initializer=testing.init.Constant(2.0))
    assert [param.name_hint for param in drawn["main"].params] == [param.name_hint for param in mod["main"].params]


def test_refusals() -> None:
    x = relay.var("x", shape=(1, 2))
    with pytest.raises(WorkbenchError, match="no ResNet of 19 layers"):
        testing.resnet.get_workload(num_layers=19)
    with pytest.raises(WorkbenchError, match="no ResNet of 19 layers"):
        testing.resnet.get_workload(num_layers=19, image_shape=SMALL)
    with pytest.raises(WorkbenchError, match="no VGG of 12 layers"):
        testing.vgg.get_workload(1, num_layers=12)
    with pytest.raises(WorkbenchError, match=r"no SqueezeNet 2\.0"):
        testing.squeezenet.get_workload(version="2.0")
    with pytest.raises(WorkbenchError, match="no DenseNet of 100"):
        testing.densenet.get_workload(100)
    with pytest.raises(WorkbenchError, match="64 by 64"):
        testing.dcgan.get_workload(1, oshape=(3, 32, 32))
    with pytest.raises(WorkbenchError, match="cannot be told from its name"):
        testing.create_workload(relay.tanh(x))
    with pytest.raises(WorkbenchError, match="cannot be inferred"):
        data = relay.var("data", shape=(1, 3, 8, 8))
        testing.create_workload(relay.nn.conv2d(data, relay.var("weight")))
