"""Networks and helpers for tests and lessons, under their classic names (`relay.testing`).

    mod, params = relay.testing.resnet.get_workload(num_layers=18, batch_size=1, image_shape=(3, 224, 224))

Each network is a module with `get_net(...)` (a function) and `get_workload(...)` (a module and random weights).
"""

from __future__ import annotations

from ...core.late_names import Names, late_names

_NETWORKS = ("dcgan", "densenet", "dqn", "lenet", "mlp", "mobilenet", "resnet", "squeezenet", "vgg")
_NAMES: Names = {
    **{name: (f".{name}", None) for name in (*_NETWORKS, "init", "layers")},
    "create_workload": (".init", "create_workload"),
    "run_infer_type": (".helpers", "run_infer_type"),
    "run_opt_pass": (".helpers", "run_opt_pass"),
}
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = late_names(__name__, _NAMES)
