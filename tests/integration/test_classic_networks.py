"""Scripts that build and run whole networks, written for the classic API; only their imports name this package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench
import workbench as tvm
import workbench.testing
from workbench import relay, te
from workbench.contrib import graph_executor
from workbench.contrib.download import download, download_testdata
from workbench.contrib.utils import tempdir
from workbench.core.errors import WorkbenchError
from workbench.relay import testing


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_quick_start() -> None:
    batch_size = 1
    num_class = 1000
    image_shape = (3, 224, 224)
    data_shape = (batch_size, *image_shape)
    out_shape = (batch_size, num_class)

    mod, params = relay.testing.resnet.get_workload(num_layers=18, batch_size=batch_size, image_shape=image_shape)
    assert "nn.conv2d" in mod.astext(show_meta_data=False)

    opt_level = 3
    target = tvm.target.Target("llvm")
    with tvm.transform.PassContext(opt_level=opt_level):
        lib = relay.build(mod, target, params=params)

    dev = tvm.cpu()
    data = np.random.default_rng(0).uniform(-1, 1, size=data_shape).astype("float32")
    module = graph_executor.GraphModule(lib["default"](dev))
    module.set_input("data", data)
    module.run()
    out = module.get_output(0, tvm.nd.empty(out_shape)).numpy()
    assert abs(float(out.sum()) - 1) < 1e-4

    temp = tempdir()
    path_lib = temp.relpath("deploy_lib.tar.so")
    lib.export_library(path_lib)
    assert temp.listdir()

    loaded_lib = tvm.runtime.load_module(path_lib)
    input_data = tvm.nd.array(data)
    module = graph_executor.GraphModule(loaded_lib["default"](dev))
    module.run(data=input_data)
    out_deploy = module.get_output(0).numpy()
    tvm.testing.assert_allclose(out_deploy, out, atol=1e-5)


def test_a_network_by_hand() -> None:
    out_channels = 16
    batch_size = 1
    data = relay.var("data", relay.TensorType((batch_size, 3, 32, 32), "float32"))
    weight = relay.var("weight")
    bn_gamma = relay.var("bn_gamma")
    bn_beta = relay.var("bn_beta")
    bn_mmean = relay.var("bn_mean")
    bn_mvar = relay.var("bn_var")
    simple_net = relay.nn.conv2d(data=data, weight=weight, kernel_size=(3, 3), channels=out_channels, padding=(1, 1))
    simple_net = relay.nn.batch_norm(simple_net, bn_gamma, bn_beta, bn_mmean, bn_mvar)[0]
    simple_net = relay.nn.relu(simple_net)
    simple_net = relay.Function(relay.analysis.free_vars(simple_net), simple_net)

    data_shape = (batch_size, 3, 32, 32)
    net, params = testing.create_workload(simple_net)
    lib = relay.build_module.build(net, "llvm", params=params)
    dev = tvm.device("llvm", 0)
    data = np.random.default_rng(0).uniform(-1, 1, size=data_shape).astype("float32")
    module = graph_executor.GraphModule(lib["default"](dev))
    module.set_input("data", data)
    module.run()
    out_shape = (batch_size, out_channels, 32, 32)
    out = module.get_output(0, tvm.nd.empty(out_shape)).numpy()
    interpreted = relay.create_executor("debug", net, dev, "llvm", params).evaluate()(data)
    tvm.testing.assert_allclose(out, interpreted.numpy(), rtol=1e-4, atol=1e-5)


def test_a_graph_convolution_layer() -> None:
    """H' = relu(A H W + b): neighbours are averaged, then mixed."""
    rng = np.random.default_rng(0)
    nodes, features, units = 12, 7, 5
    adjacency = (rng.random((nodes, nodes)) < 0.3).astype("float32") + np.eye(nodes, dtype="float32")
    adjacency /= adjacency.sum(axis=1, keepdims=True)

    def graph_conv(layer_name: str, input_dim: int, output_dim: int, adj: Any, input: Any, activation: Any) -> Any:
        weight = relay.var(layer_name + ".weight", shape=(input_dim, output_dim))
        bias = relay.var(layer_name + ".bias", shape=(output_dim,))
        weight_t = relay.transpose(weight)
        dense = relay.nn.dense(weight_t, input)
        output = relay.nn.dense(adj, dense)
        output_t = relay.nn.bias_add(output, bias, axis=-1)
        return activation(output_t) if activation is not None else output_t

    infeats = relay.var("infeats", shape=(nodes, features))
    adj = relay.const(adjacency)
    hidden = graph_conv("layers.0", features, units, adj, infeats, relay.nn.relu)
    output = graph_conv("layers.1", units, 3, adj, hidden, None)
    func = relay.Function(relay.analysis.free_vars(output), output)
    mod = tvm.IRModule()
    mod["main"] = func
    params = {
        param.name_hint: rng.standard_normal(param.checked_type.concrete_shape).astype("float32")
        for param in func.params
        if param.name_hint != "infeats"
    }
    with tvm.transform.PassContext(opt_level=0):
        lib = relay.build(mod, "llvm", params=params)
    m = graph_executor.GraphModule(lib["default"](tvm.device("llvm", 0)))
    h = rng.standard_normal((nodes, features)).astype("float32")
    m.set_input("infeats", h)
    m.run()
    logits = m.get_output(0).numpy()
    first = np.maximum(adjacency @ (h @ params["layers.0.weight"]) + params["layers.0.bias"], 0)
    expected = adjacency @ (first @ params["layers.1.weight"]) + params["layers.1.bias"]
    tvm.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-5)


@pytest.fixture
def data_folder(monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path(__file__).resolve().parents[2] / "notebooks" / "data"
    monkeypatch.setenv("WORKBENCH_DATA", str(folder))
    return folder


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_compiling_an_onnx_model(data_folder: Path) -> None:
    import onnx
    import onnxruntime
    from PIL import Image

    model_url = "https://example.org/models/efficientnet_lite0.onnx"
    model_path = download_testdata(model_url, "efficientnet_lite0.onnx", module="onnx")
    onnx_model = onnx.load(model_path)

    img_url = "https://example.org/pictures/coffee.png?raw=true"
    img_path = download_testdata(img_url, "coffee.png", module="data")
    img = Image.open(img_path).convert("RGB").resize((224, 224))
    x = np.array(img).astype("float32").transpose(2, 0, 1)[np.newaxis, :, :, :] / 127.5 - 1

    target = "llvm"
    input_name = onnx_model.graph.input[0].name
    shape_dict = {input_name: x.shape}
    mod, params = relay.frontend.from_onnx(onnx_model, shape_dict)
    with tvm.transform.PassContext(opt_level=1):
        executor = relay.build_module.create_executor("graph", mod, tvm.cpu(0), target, params).evaluate()
    dtype = "float32"
    tvm_output = executor(tvm.nd.array(x.astype(dtype))).numpy()
    session = onnxruntime.InferenceSession(onnx_model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, {input_name: x})[0]
    tvm.testing.assert_allclose(tvm_output, expected, rtol=1e-3, atol=1e-4)


def test_files_are_not_downloaded(data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorkbenchError) as caught:
        download_testdata("https://example.org/cat.png", "cat.png", module="data")
    assert caught.value.code == "E-DATA-MISSING" and "nothing is downloaded" in caught.value.message
    assert caught.value.where == "https://example.org/cat.png" and "WORKBENCH_DATA" in caught.value.fix
    target = tmp_path / "deep" / "coffee.png"
    download("https://example.org/x/coffee.png", str(target))
    assert target.read_bytes() == (data_folder / "coffee.png").read_bytes()
    target.write_bytes(b"mine")
    download("https://example.org/x/coffee.png", str(target))
    assert target.read_bytes() == b"mine"
    download("https://example.org/x/coffee.png", str(target), overwrite=True)
    assert len(target.read_bytes()) > 4
    monkeypatch.setenv("WORKBENCH_MODELS", str(tmp_path / "deep"))
    (tmp_path / "deep" / "net.onnx").write_bytes(b"x")
    assert download_testdata("https://example.org/a/net.onnx", "renamed.onnx").endswith("net.onnx")


def test_optimizing_without_building() -> None:
    mod, params = testing.lenet.get_workload(1)
    with tvm.transform.PassContext(opt_level=3):
        optimized, left = relay.optimize(mod, target="llvm", params=params)
    assert left == {} and len(optimized["main"].params) == 1
    assert any(isinstance(node, relay.Function) and node.is_primitive for node in optimized.nodes())
    with tvm.transform.PassContext(opt_level=0, disabled_pass=["FuseOps"]):
        plain, _ = relay.optimize(mod["main"], "llvm", params)
    assert relay.analysis.list_op_freqs(plain) == relay.analysis.list_op_freqs(mod)


def test_temporary_folders(tmp_path: Path) -> None:
    temp = tempdir()
    Path(temp.relpath("a.txt")).write_text("a")
    assert temp.listdir() == ["a.txt"] and (temp / "a.txt").is_file()
    path = temp.path
    temp.remove()
    assert not path.exists()
    kept = tempdir(str(tmp_path / "own"), keep_for_debug=True)
    kept.remove()
    assert kept.path.is_dir()


def test_executors_answer_the_same() -> None:
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(3,))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.Tuple((relay.tanh(x) + y, relay.sum(x)))))
    a = np.random.default_rng(0).standard_normal((2, 3)).astype("float32")
    b = np.ones(3, "float32")
    answers = [relay.create_executor(kind, mod).evaluate()(a, y=b) for kind in ("debug", "graph", "vm", "aot")]
    for found in answers:
        tvm.testing.assert_allclose(found[0], np.tanh(a) + 1, rtol=1e-5)
        tvm.testing.assert_allclose(found[1], a.sum(), rtol=1e-5)
    assert relay.create_executor().evaluate(relay.const(2.0) + relay.const(3.0)).numpy() == 5
    assert relay.create_executor().evaluate(x + x, {x: a}).numpy().shape == (2, 3)
    with pytest.raises(WorkbenchError, match="no executor 'grap'"):
        relay.create_executor("grap")
    with pytest.raises(WorkbenchError, match="no parameter 'z'"):
        relay.create_executor("debug", mod).evaluate()(a, z=b)
    with pytest.raises(WorkbenchError, match="do not fit"):
        relay.create_executor("debug", mod).evaluate()(a)
    with pytest.raises(WorkbenchError, match="only relay expressions"):
        relay.create_executor().evaluate(te.var("n"))


@pytest.mark.parametrize("name", ["lenet", pytest.param("mobilenet", marks=pytest.mark.nightly), "squeezenet"])
def test_networks_compiled_answer_what_the_interpreter_does(name: str) -> None:
    small = testing.mobilenet.mobile_net(10, (1, 3, 32, 32), alpha=0.25)
    made = {
        "lenet": lambda: testing.lenet.get_workload(2),
        "mobilenet": lambda: testing.create_workload(small),
        "squeezenet": lambda: testing.squeezenet.get_workload(1, 10, "1.1", (3, 64, 64)),
    }
    mod, params = made[name]()
    shape = mod["main"].params[0].checked_type.concrete_shape
    data = np.random.default_rng(2).standard_normal(shape).astype("float32")
    wanted = relay.create_executor("debug", mod, params=params).evaluate()(data).numpy()
    with workbench.transform.PassContext(opt_level=3):
        found = relay.create_executor("graph", mod, params=params).evaluate()(data).numpy()
    workbench.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-5)


def test_modules_lie_where_scripts_import_them_from() -> None:
    import workbench.relay.expr_functor
    from workbench.relay.build_module import bind_params_by_name, build
    from workbench.relay.expr import Call, RelayExpr
    from workbench.relay.frontend import from_onnx
    from workbench.relay.testing.init import create_workload
    from workbench.relay.ty import TensorType, TypeKind

    assert Call is relay.Call and RelayExpr is relay.Expr and TensorType is relay.TensorType
    assert from_onnx is relay.frontend.from_onnx and build is relay.build and callable(bind_params_by_name)
    assert create_workload is testing.create_workload and TypeKind is relay.TypeKind
    assert workbench.relay.expr_functor.ExprMutator is relay.ExprMutator
    with pytest.raises(AttributeError):
        relay.frontend.from_nothing  # noqa: B018
    with pytest.raises(AttributeError):
        relay.build_module.no_such_name  # noqa: B018
