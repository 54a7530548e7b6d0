"""Networks and helpers for tests and lessons, under their classic names (`relay.testing`).

    mod, params = relay.testing.resnet.get_workload(num_layers=18, batch_size=1, image_shape=(3, 224, 224))

Each network is a module with `get_net(...)` (a function) and `get_workload(...)` (a module and random weights).
"""

from . import (
    dcgan,
    densenet,
    dqn,
    init,
    layers,
    lenet,
    mlp,
    mobilenet,
    resnet,
    squeezenet,
    vgg,
)
from .helpers import run_infer_type, run_opt_pass
from .init import create_workload

__all__ = [
    "create_workload",
    "dcgan",
    "densenet",
    "dqn",
    "init",
    "layers",
    "lenet",
    "mlp",
    "mobilenet",
    "resnet",
    "run_infer_type",
    "run_opt_pass",
    "squeezenet",
    "vgg",
]
