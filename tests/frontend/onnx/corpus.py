"""The corpus of hostile models as a table: what each kind of file is, and what has to happen to it.

The numbers are those of the reliability goals (85 kinds between 00 and 99).  `files` are names in `hostile`; a refusal
has a code and texts that the error must hold, an acceptance texts that its notes must hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

TENSOR_LIMIT = "raise wb.limits.tensor_bytes"
LEAST = {"int64": -(2**63), "int32": -(2**31)}


@dataclass(frozen=True)
class Kind:
    """One kind of file and its verdict."""

    title: str
    files: tuple[str, ...]
    code: str = ""
    """Of the refusal; empty: the file is accepted."""
    says: tuple[str, ...] = ()
    inputs: dict[str, Any] = field(default_factory=dict[str, Any])
    """What an accepted model is run on: (dtype, numbers) by name; zeros elsewhere."""
    results: dict[str, Any] = field(default_factory=dict[str, Any])
    """Outputs by file, where they are defined."""


def refused(title: str, code: str, *says: str, files: tuple[str, ...]) -> Kind:
    return Kind(title, files, code, says)


def accepted(title: str, *files: str, says: tuple[str, ...] = (), **more: Any) -> Kind:
    return Kind(title, files, "", says, **more)


def _not_onnx(title: str, file: str, *says: str) -> Kind:
    return refused(title, "E-IMPORT-NOT-ONNX", "is not an ONNX file", *says, files=(file,))


def _node(title: str, *files: str, says: tuple[str, ...] = ()) -> Kind:
    return refused(title, "E-ONNX-NODE", *says, files=files)


def _outside(title: str, *files: str) -> Kind:
    return refused(title, "E-IMPORT-EXTERNAL", "initializer 'w'", files=files)


def _bomb(title: str, file: str) -> Kind:
    return refused(title, "E-LIMIT", "iB", "at most 4.0 GiB", TENSOR_LIMIT, files=(file,))


KINDS: dict[str, Kind] = {
    "00": accepted("a good file", "00_good"),
    "01": _not_onnx("empty", "01_empty", "0 bytes"),
    "02": refused("cut off", "E-IMPORT-TRUNCATED", "at byte 49 of at least", files=("02_truncated",)),
    "03": _not_onnx("random bytes", "03_random", "do not decode"),
    "04": _not_onnx("a picture", "04_png", "a PNG picture"),
    "05": _not_onnx("a page that says 404", "05_html", "an HTML page", "the download failed"),
    "06": _not_onnx("a git-LFS pointer", "06_git_lfs", "git-LFS pointer", "git lfs pull"),
    "07": _not_onnx("a pickle", "07_pickle", "pickle", "never loaded"),
    "08": _not_onnx("flipped bits", "08_bit_flips", "do not decode"),
    "10": refused("no graph", "E-IMPORT-NO-GRAPH", "has no graph", files=("10_no_graph",)),
    "11": refused("an empty graph", "E-ONNX-NO-OUTPUT", "0 outputs", files=("11_empty_graph",)),
    "12": refused("a cycle", "E-ONNX-CYCLE", "Add#0 ('first') → Relu#1 → Relu#2 → Add#0", files=("12_cycle",)),
    "13": refused("a node that reads itself", "E-ONNX-CYCLE", "Add#0 → Add#0", files=("13_self_loop",)),
    "14": accepted("nodes out of order", "14_not_sorted", says=("have been sorted",)),
    "15": refused("a value that nothing makes", "E-ONNX-DANGLING", "did you mean 'x'?", files=("15_dangling_input",)),
    "16": refused("an output never made", "E-ONNX-DANGLING", "the output 'scores' is never made",
                  "did you mean 'score'?",
                  files=("16_output_never_made",)),
    "17": refused("a value made twice", "E-ONNX-DUPLICATE", "made by Relu#0 and by Neg#1",
                  files=("17_duplicate_output",)),
    "18": refused("an initializer twice", "E-ONNX-DUPLICATE", "initializers 0 and 1",
                  files=("18_duplicate_initializer",)),
    "19": _node("no operands", "19_no_inputs", says=("Relu#0", "too few inputs", "opset 17")),
    "20": _node("too many operands, or one left out", "20_extra_inputs", "20_left_out", says=("#0: ",)),
    "21": refused("unknown operators", "E-ONNX-UNSUPPORTED", "Foo x2, Bar x1", "onnx_op('Foo')",
                  files=("21_unknown_operators",)),
    "22": refused("an unknown domain", "E-ONNX-UNSUPPORTED", "com.example.Gelu x1", "domain='com.example'",
                  files=("22_unknown_domain",)),
    "23": refused("opset 9999", "E-ONNX-OPSET", "opset 9999", "opset 7 to", files=("23_opset_9999",)),
    "24": refused("opset 0", "E-ONNX-OPSET", "opset 0", "opset 7 to", files=("24_opset_0",)),
    "25": refused("opset -5", "E-ONNX-OPSET", "opset -5", "opset 7 to", files=("25_opset_minus_5",)),
    "26": refused("no opset", "E-ONNX-OPSET", "none", "opset 7 to", files=("26_opset_none",)),
    "27": refused("a format of the future", "E-ONNX-IR-VERSION", "IR version 99", "3 to", files=("27_future_ir",)),
    "30": refused("a dimension of -2", "E-ONNX-DIMENSION", "-2", files=("30_negative_dimension",)),
    "31": accepted("a dimension of 0", "31_zero_dimension"),
    "32": refused("dimensions 2^62, eight times", "E-LIMIT", "more than 1,024 EiB", TENSOR_LIMIT,
                  files=("32_dims_2_62",)),
    "33": refused("a product that overflows", "E-LIMIT", "64.0 EiB", "4294967296", TENSOR_LIMIT,
                  files=("33_product_overflow",)),
    "34": refused("data too short", "E-IMPORT-TENSOR", "20 bytes", "24 bytes", files=("34_raw_too_short",)),
    "35": refused("data too long", "E-IMPORT-TENSOR", "28 bytes", "24 bytes", files=("35_raw_too_long",)),
    "36": refused("weights with a dimension of -2", "E-IMPORT-TENSOR", "(-2, 3)", files=("36_initializer_negative",)),
    "37": refused("element type 999", "E-IMPORT-DTYPE", "999", "float32, uint8, int8", files=("37_dtype_999",)),
    "38": refused("no element type", "E-IMPORT-DTYPE", "undefined", "float32, uint8, int8",
                  files=("38_dtype_undefined",)),
    "39": refused("rank 400", "E-IMPORT-TENSOR", "rank 400", "raise wb.limits.rank", files=("39_rank_400",)),
    "40": _bomb("a ConstantOfShape bomb", "40_constant_of_shape_bomb"),
    "41": _bomb("an Expand bomb", "41_expand_bomb"),
    "42": _bomb("a Tile bomb", "42_tile_bomb"),
    "43": _bomb("a Pad bomb", "43_pad_bomb"),
    "44": _bomb("a Range bomb", "44_range_bomb"),
    "45": _node("a range with step 0", "45_range_step_0", says=("0 to 9 by 0",)),
    "46": _node("an endless loop", "46_endless_loop", "46_loop_of_two_negations", says=("Loop#0",)),
    "50": _outside("data in the folder above", "50_parent"),
    "51": _outside("data at an absolute path", "51_absolute"),
    "52": _outside("data through a link", "52_symlink", "52_symlink_folder"),
    "53": _outside("data through a hard link", "53_hardlink"),
    "54": _outside("data that is not there", "54_missing"),
    "55": _outside("a negative offset", "55_negative_offset"),
    "56": _outside("a huge length", "56_huge_length"),
    "57": _outside("data beyond the end", "57_beyond_end"),
    "58": _outside("data of /dev/zero", "58_dev_zero"),
    "59": _outside("data of a FIFO", "59_fifo"),
    "60": _outside("a key like __class__", "60_dunder_key"),
    "61": _outside("an empty place", "61_empty"),
    "62": _outside("a URL", "62_url"),
    "63": _outside("a NUL in the place", "63_nul"),
    "64": _outside("a folder as data", "64_directory"),
    "70": accepted("conditions nested 30 deep", "70_nest_30"),
    "71": refused("nested 1,500 deep", "E-IMPORT-NESTING", "at least 1501", "wb.limits.nesting",
                  files=("71_nest_1500",)),
    "72": accepted("a chain of 20,000 nodes", "72_chain_20000"),
    "73": refused("functions in a circle", "E-ONNX-CYCLE", "my.F → my.G → my.F", files=("73_function_cycle",)),
    "74": refused("a chain of 3,000 functions", "E-IMPORT-NESTING", "raise wb.limits.nesting",
                  files=("74_function_chain_3000",)),
    "75": refused("2^29 nodes when inlined", "E-IMPORT-NODES", "raise wb.limits.nodes",
                  files=("75_exponential_inlining",)),
    "80": accepted("a lie about a type", "80_type_lie", says=("claimed to be (2, 3) int64",)),
    "81": accepted("a lie about a shape", "81_shape_lie", says=("claimed to be (5, 7, 9)",)),
    "82": _node("mixed element types", "82_mixed_dtype", says=("(2, 3) float32, (3,) int64",)),
    "83": _node("matrices that do not fit", "83_matmul_dims", says=("(2, 3) float32, (4, 5) float32",)),
    "84": _node("a convolution of wrong rank or channels", "84_conv_rank", "84_conv_channels",
                says=("(4, 3, 3, 3) float32",)),
    "85": _node("stride 0", "85_stride_0", says=("(1, 3, 8, 8) float32, (4, 3, 3, 3) float32",)),
    "86": _node("kernel 0", "86_kernel_0", says=("(1, 3, 8, 8) float32",)),
    "87": _node("axis 99", "87_axis_99", says=("(2, 3) float32", "-2 to 1")),
    "88": _node("a reshape that cannot be", "88_reshape_minus_2", "88_reshape_elements", says=("(2, 3) float32",)),
    "89": _node("an index out of bounds", "89_gather_out_of_bounds", says=("(2, 3) float32, (2,) int64", "index 7")),
    "90": _node("an integer divided by 0", "90_divide_by_zero", says=("(3,) int64",)),
    "91": accepted("the least integer divided by -1", "91_least_by_minus_one", "91_least_by_minus_one_32",
                   "91_remainder",
                   inputs={name: {"x": (dtype, [LEAST[dtype], 7, -7]), "w": (dtype, [-1, 2, 2])} for name, dtype in (
                       ("91_least_by_minus_one", "int64"), ("91_least_by_minus_one_32", "int32"),
                       ("91_remainder", "int64"))},
                   results={"91_least_by_minus_one": [LEAST["int64"], 3, -3],
                            "91_least_by_minus_one_32": [LEAST["int32"], 3, -3], "91_remainder": [0, 1, 1]}),
    "92": accepted("weights that are not finite", "92_not_finite",
                   says=("initializer 'w' contains values that are not finite",)),
    "93": _node("an axis twice", "93_perm_repeats", says=("(2, 3) float32", "(0, 0)")),
    "94": accepted("names like <script>", "94_script_name"),
    "95": accepted("names with control characters", "95_control_names"),
    "96": accepted("a name of 1 MB", "96_long_name", says=("1,000,000 characters; 4,096 are kept",)),
    "97": accepted("names like ../", "97_path_name"),
    "98": accepted("names like C code", "98_injection_name"),
    "99": accepted("strange metadata", "99_metadata"),
}  # fmt: skip
"""By number."""

AT_RUN_TIME: dict[str, dict[str, Any]] = {
    "89_gather_at_run_time": {"i": ("int64", [0, 7])},
    "90_divide_at_run_time": {"x": ("int64", [1, -5, 0]), "w": ("int64", [0, 0, 0])},
    "90_remainder_at_run_time": {"x": ("int64", [1, -5, 0]), "w": ("int64", [0, 0, 0])},
}
"""Models whose fault only a run can see (89, 90): they run to an error or to a defined result, never to a signal."""
