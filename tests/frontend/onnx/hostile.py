"""Builders of hostile and broken models; numbers are those of the corpus in the reliability goals.

Each entry of `REFUSED` makes bytes (or a ModelProto) that import has to refuse; `ACCEPTED` what it has to take.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64


def value(name: str, shape: Any = (2, 3), dtype: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def graph(nodes: list[Any], inputs: Any = None, outputs: Any = None, initializers: Any = ()) -> Any:
    inputs = [value("x")] if inputs is None else inputs
    outputs = [value("y", None)] if outputs is None else outputs
    return helper.make_graph(nodes, "g", inputs, outputs, list(initializers))


def model(nodes: list[Any], inputs: Any = None, outputs: Any = None, initializers: Any = (), opset: int = 17) -> Any:
    made = helper.make_model(
        graph(nodes, inputs, outputs, initializers), opset_imports=[helper.make_opsetid("", opset)]
    )
    made.ir_version = 10
    return made


def node(op_type: str, inputs: list[str], outputs: list[str], **attributes: Any) -> Any:
    return helper.make_node(op_type, inputs, outputs, **attributes)


def weights(name: str, array: Any) -> Any:
    return numpy_helper.from_array(np.asarray(array), name)


def ints(name: str, *numbers: int) -> Any:
    return weights(name, np.array(numbers, np.int64))


def good() -> Any:
    return model([node("Relu", ["x"], ["y"])])


# --- files --------------------------------------------------------------------------------------------------------


def truncated() -> bytes:
    data = model(
        [node("Add", ["x", "w"], ["y"])], initializers=[weights("w", np.ones((2, 3), "f"))]
    ).SerializeToString()
    return data[: len(data) // 2]


def random_bytes() -> bytes:
    return np.random.default_rng(3).bytes(4096)


def flipped() -> bytes:
    data = bytearray(good().SerializeToString())
    for place in range(8, len(data), 7):
        data[place] ^= 0x80
    return bytes(data)


def nested(levels: int) -> bytes:
    """A graph attribute inside a graph attribute, `levels` deep, written without recursion."""

    def field(number: int, payload: bytes) -> bytes:
        length, out = len(payload), bytearray([number << 3 | 2])
        while length >= 128:
            out.append(length & 127 | 128)
            length >>= 7
        return bytes([*out, length]) + payload

    inner = b""
    for _ in range(levels):
        inner = field(1, field(4, b"Loop") + field(5, field(1, b"body") + field(6, inner)))
    return field(7, inner)


# --- graphs -------------------------------------------------------------------------------------------------------


def with_tensor(change: Callable[[Any], None]) -> Any:
    made = model([node("Add", ["x", "w"], ["y"])], initializers=[weights("w", np.ones((2, 3), "f"))])
    change(made.graph.initializer[0])
    return made


def opset(version: int | None) -> Any:
    made = good()
    del made.opset_import[:]
    if version is not None:
        made.opset_import.append(helper.make_opsetid("", version))
    return made


def changed(made: Any, change: Callable[[Any], None]) -> Any:
    change(made)
    return made


def function(name: str, calls: list[str]) -> Any:
    nodes = [node(callee, ["a"], [f"t{index}"], domain="my") for index, callee in enumerate(calls)]
    nodes = nodes or [node("Relu", ["a"], ["t0"])]
    last = nodes[-1].output[0]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    return helper.make_function("my", name, ["a"], [last], nodes, imports)


def with_functions(*functions: Any) -> Any:
    made = model([node(functions[0].name, ["x"], ["y"], domain="my")])
    made.opset_import.append(helper.make_opsetid("my", 1))
    made.functions.extend(functions)
    return made


def cycle() -> Any:
    nodes = [
        node("Add", ["x", "b"], ["y1"], name="first"),
        node("Relu", ["y1"], ["r"]),
        node("Relu", ["r"], ["b"]),
        node("Relu", ["b"], ["y"]),
    ]
    return model(nodes)


def shaped_bomb(op_type: str) -> Any:
    huge = 1 << 40
    table: dict[str, Any] = {
        "ConstantOfShape": ([node("ConstantOfShape", ["s"], ["y"])], [ints("s", huge, huge)]),
        "Expand": ([node("Expand", ["x", "s"], ["y"])], [ints("s", huge, 2, 3)]),
        "Tile": ([node("Tile", ["x", "s"], ["y"])], [ints("s", huge, huge)]),
        "Pad": ([node("Pad", ["x", "s"], ["y"])], [ints("s", 0, 0, huge, huge)]),
        "Range": (
            [node("Range", ["a", "b", "c"], ["y"])],
            [weights("a", np.int64(0)), weights("b", np.int64(1 << 60)), weights("c", np.int64(1))],
        ),
    }
    nodes, initializers = table[op_type]
    return model(nodes, initializers=initializers)


def conv(x: Any, w: Any, **attributes: Any) -> Any:
    return model(
        [node("Conv", ["x", "w"], ["y"], **attributes)], [value("x", x)], initializers=[weights("w", np.ones(w, "f"))]
    )


def external(**entries: str) -> Any:
    def change(tensor: Any) -> None:
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, text in entries.items():
            entry = tensor.external_data.add()
            entry.key, entry.value = key, text

    return with_tensor(change)


def _set_dims(tensor: Any, *dims: int) -> None:
    del tensor.dims[:]
    tensor.dims.extend(dims)


def _set(target: Any, name: str, content: Any) -> None:
    setattr(target, name, content)


REFUSED: dict[str, Callable[[], Any]] = {
    "01_empty": lambda: b"",
    "02_truncated": truncated,
    "03_random": random_bytes,
    "04_png": lambda: b"\x89PNG\r\n\x1a\n" + b"\0" * 64,
    "05_html": lambda: b"\n<!DOCTYPE html><html><body>404 Not Found</body></html>",
    "06_git_lfs": lambda: b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    "07_pickle": lambda: pickle.dumps({"state_dict": [1, 2, 3]}),
    "08_bit_flips": flipped,
    "09_zip": lambda: b"PK\x03\x04" + b"\0" * 60,
    "10_no_graph": lambda: changed(good(), lambda m: m.ClearField("graph")),
    "11_empty_graph": lambda: model([], [], []),
    "12_cycle": cycle,
    "13_self_loop": lambda: model([node("Add", ["x", "y"], ["y"])]),
    "15_dangling_input": lambda: model([node("Relu", ["xx"], ["y"])]),
    "16_output_never_made": lambda: model([node("Relu", ["x"], ["score"])], outputs=[value("scores", None)]),
    "17_duplicate_output": lambda: model([node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])]),
    "18_duplicate_initializer": lambda: model(
        [node("Add", ["x", "w"], ["y"])], initializers=[weights("w", np.ones(3, "f")), weights("w", np.zeros(3, "f"))]
    ),
    "19_no_inputs": lambda: model([node("Relu", [], ["y"])]),
    "20_extra_inputs": lambda: model([node("Relu", ["x", "x"], ["y"])]),
    "20_left_out": lambda: model([node("Conv", ["x", ""], ["y"])]),
    "21_unknown_operators": lambda: model(
        [node("Foo", ["x"], ["a"], name="f1"), node("Foo", ["a"], ["b"]), node("Bar", ["b"], ["y"])]
    ),
    "22_unknown_domain": lambda: model([node("Gelu", ["x"], ["y"], domain="com.example")]),
    "23_opset_9999": lambda: opset(9999),
    "24_opset_0": lambda: opset(0),
    "25_opset_minus_5": lambda: opset(-5),
    "26_opset_none": lambda: opset(None),
    "27_future_ir": lambda: changed(good(), lambda m: _set(m, "ir_version", 99)),
    "30_negative_dimension": lambda: model([node("Relu", ["x"], ["y"])], [value("x", (-2, 3))]),
    "32_dims_2_62": lambda: with_tensor(lambda t: _set_dims(t, *[1 << 62] * 8)),
    "33_product_overflow": lambda: with_tensor(lambda t: _set_dims(t, 1 << 32, 1 << 32)),
    "34_raw_too_short": lambda: with_tensor(lambda t: _set(t, "raw_data", b"\0" * 20)),
    "35_raw_too_long": lambda: with_tensor(lambda t: _set(t, "raw_data", b"\0" * 28)),
    "36_initializer_negative": lambda: with_tensor(lambda t: _set_dims(t, -2, 3)),
    "37_dtype_999": lambda: with_tensor(lambda t: _set(t, "data_type", 999)),
    "38_dtype_undefined": lambda: with_tensor(lambda t: _set(t, "data_type", 0)),
    "39_rank_400": lambda: with_tensor(lambda t: _set_dims(t, *[1] * 400)),
    "40_constant_of_shape_bomb": lambda: shaped_bomb("ConstantOfShape"),
    "41_expand_bomb": lambda: shaped_bomb("Expand"),
    "42_tile_bomb": lambda: shaped_bomb("Tile"),
    "43_pad_bomb": lambda: shaped_bomb("Pad"),
    "44_range_bomb": lambda: shaped_bomb("Range"),
    "45_range_step_0": lambda: model(
        [node("Range", ["a", "b", "c"], ["y"])],
        initializers=[weights("a", np.int64(0)), weights("b", np.int64(9)), weights("c", np.int64(0))],
    ),
    "46_endless_loop": lambda: model(
        [
            node(
                "Loop",
                ["", "go", "x"],
                ["y"],
                body=helper.make_graph(
                    [node("Identity", ["c"], ["d"]), node("Identity", ["v"], ["w"])],
                    "body",
                    [value("i", (), INT64), value("c", (), TensorProto.BOOL), value("v")],
                    [value("d", (), TensorProto.BOOL), value("w")],
                ),
            )
        ],
        initializers=[weights("go", np.True_)],
    ),
    "71_nest_1500": lambda: nested(1500),
    "73_function_cycle": lambda: with_functions(function("F", ["G"]), function("G", ["F"])),
    "74_function_chain_3000": lambda: with_functions(
        *[function(f"F{index}", [f"F{index + 1}"]) for index in range(2999)], function("F2999", [])
    ),
    "75_exponential_inlining": lambda: with_functions(
        *[function(f"F{index}", [f"F{index + 1}"] * 2) for index in range(29)], function("F29", [])
    ),
    "82_mixed_dtype": lambda: model([node("Add", ["x", "w"], ["y"])], initializers=[ints("w", 1, 2, 3)]),
    "83_matmul_dims": lambda: model(
        [node("MatMul", ["x", "w"], ["y"])], initializers=[weights("w", np.ones((4, 5), "f"))]
    ),
    "84_conv_rank": lambda: conv((2, 3), (4, 3, 3, 3)),
    "84_conv_channels": lambda: conv((1, 5, 8, 8), (4, 3, 3, 3)),
    "85_stride_0": lambda: conv((1, 3, 8, 8), (4, 3, 3, 3), strides=[0, 1]),
    "86_kernel_0": lambda: model([node("MaxPool", ["x"], ["y"], kernel_shape=[0, 2])], [value("x", (1, 3, 8, 8))]),
    "87_axis_99": lambda: model([node("Softmax", ["x"], ["y"], axis=99)]),
    "88_reshape_minus_2": lambda: model([node("Reshape", ["x", "s"], ["y"])], initializers=[ints("s", -2, 3)]),
    "88_reshape_elements": lambda: model([node("Reshape", ["x", "s"], ["y"])], initializers=[ints("s", 4, 5)]),
    "89_gather_out_of_bounds": lambda: model([node("Gather", ["x", "i"], ["y"])], initializers=[ints("i", 0, 7)]),
    "90_divide_by_zero": lambda: model(
        [node("Div", ["x", "w"], ["y"])], [value("x", (3,), INT64)], initializers=[ints("w", 1, 0, 2)]
    ),
    "93_perm_repeats": lambda: model([node("Transpose", ["x"], ["y"], perm=[0, 0])]),
    "broadcast": lambda: model([node("Add", ["x", "w"], ["y"])], initializers=[weights("w", np.ones((4,), "f"))]),
    "dynamic_input": lambda: model([node("Relu", ["x"], ["y"])], [value("x", ("batch", 3, None))]),
    "46_loop_of_two_negations": lambda: model(
        [
            node(
                "Loop",
                ["", "go", "x"],
                ["y"],
                body=helper.make_graph(
                    [node("Not", ["c"], ["n"]), node("Not", ["n"], ["d"]), node("Identity", ["v"], ["w"])],
                    "body",
                    [value("i", (), INT64), value("c", (), TensorProto.BOOL), value("v")],
                    [value("d", (), TensorProto.BOOL), value("w")],
                ),
            )
        ],
        initializers=[weights("go", np.True_)],
    ),
    "missing_attribute": lambda: model([node("Cast", ["x"], ["y"])]),
    "string_input": lambda: model([node("Identity", ["x"], ["y"])], [value("x", (2,), TensorProto.STRING)]),
    "unknown_attribute": lambda: model([node("Relu", ["x"], ["y"], colour=3)]),
    "value_at_run_time": lambda: model([node("Reshape", ["x", "s"], ["y"])], [value("x"), value("s", (2,), INT64)]),
    "wrong_attribute_type": lambda: model([node("Softmax", ["x"], ["y"], axis=1.5)]),
}

EXTERNAL: dict[str, dict[str, str]] = {
    "50_parent": {"location": "../secret.bin"},
    "51_absolute": {"location": "/etc/hostname"},
    "52_symlink": {"location": "link.bin"},
    "52_symlink_folder": {"location": "linked/secret.bin"},
    "53_hardlink": {"location": "hard.bin"},
    "54_missing": {"location": "missing.bin"},
    "55_negative_offset": {"location": "data.bin", "offset": "-8"},
    "56_huge_length": {"location": "data.bin", "length": str(1 << 62)},
    "57_beyond_end": {"location": "data.bin", "offset": "100"},
    "58_dev_zero": {"location": "/dev/zero"},
    "59_fifo": {"location": "fifo"},
    "60_dunder_key": {"location": "data.bin", "__class__": "x"},
    "61_empty": {"location": ""},
    "62_url": {"location": "http://example.org/data.bin"},
    "63_nul": {"location": "data.bin\0.txt"},
    "64_directory": {"location": "folder"},
}


def unsorted() -> Any:
    return model([node("Relu", ["a"], ["y"]), node("Neg", ["x"], ["a"])])


def chain(count: int) -> Any:
    names = ["x", *[f"v{index}" for index in range(1, count)], "y"]
    return model([node("Relu" if index % 2 else "Neg", [names[index]], [names[index + 1]]) for index in range(count)])


def lying(shape: Any, dtype: int) -> Any:
    made = model([node("Relu", ["x"], ["a"]), node("Neg", ["a"], ["y"])])
    made.graph.value_info.append(value("a", shape, dtype))
    return made


def named(name: str) -> Any:
    return model([node("Relu", [name], ["y"], name=name)], [value(name)])


def nested_ifs(levels: int) -> Any:
    """Conditions inside conditions, `levels` deep, all known to hold; the innermost one computes."""
    inner = helper.make_graph([node("Relu", ["x"], ["r0"])], "g0", [], [value("r0")])
    for level in range(1, levels + 1):
        other = helper.make_graph([node("Neg", ["x"], [f"e{level}"])], f"e{level}", [], [value(f"e{level}")])
        choice = node("If", ["c"], [f"r{level}"], then_branch=inner, else_branch=other)
        inner = helper.make_graph([choice], f"g{level}", [], [value(f"r{level}")])
    last = node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
    return model([last], initializers=[weights("c", np.True_)])


def integers(op_type: str, dtype: int = INT64, shape: Any = (3,)) -> Any:
    """An operator on two integer inputs that only a run knows."""
    claims = [value(name, shape, dtype) for name in "xwy"]
    return model([node(op_type, ["x", "w"], ["y"])], claims[:2], claims[2:])


ACCEPTED: dict[str, Callable[[], Any]] = {
    "if_at_run_time": lambda: model(
        [
            node(
                "If",
                ["c"],
                ["y"],
                then_branch=helper.make_graph([node("Relu", ["x"], ["t"])], "t", [], [value("t")]),
                else_branch=helper.make_graph([node("Neg", ["x"], ["e"])], "e", [], [value("e")]),
            )
        ],
        [value("x"), value("c", (), TensorProto.BOOL)],
    ),
    "00_good": good,
    "14_not_sorted": unsorted,
    "70_nest_30": lambda: nested_ifs(30),
    "89_gather_at_run_time": lambda: model([node("Gather", ["x", "i"], ["y"])], [value("x"), value("i", (2,), INT64)]),
    "90_divide_at_run_time": lambda: integers("Div"),
    "90_remainder_at_run_time": lambda: integers("Mod"),
    "91_least_by_minus_one": lambda: integers("Div"),
    "91_least_by_minus_one_32": lambda: integers("Div", TensorProto.INT32),
    "91_remainder": lambda: integers("Mod"),
    "31_zero_dimension": lambda: model([node("Relu", ["x"], ["y"])], [value("x", (0, 3))]),
    "72_chain_20000": lambda: chain(20_000),
    "80_type_lie": lambda: lying((2, 3), INT64),
    "81_shape_lie": lambda: lying((5, 7, 9), FLOAT),
    "92_not_finite": lambda: model(
        [node("Add", ["x", "w"], ["y"])], initializers=[weights("w", np.array([np.nan, np.inf, 1], "f"))]
    ),
    "94_script_name": lambda: named("<script>alert(1)</script>"),
    "95_control_names": lambda: named("a\x1b[31m\u202eb\x07"),
    "96_long_name": lambda: named("n" * 1_000_000),
    "97_path_name": lambda: named("../../etc/passwd"),
    "98_injection_name": lambda: named('x"; system("id"); //'),
    "99_metadata": lambda: changed(good(), lambda m: m.metadata_props.add(key="__proto__", value="x" * 1000)),
}
