@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "float32")):
        v0 = R.multiply(R.const([1.0, 2.0], "float32"), R.const(3.0, "float32"))
        v1 = R.add(v0, R.const(1.0, "float32"))
        v2 = R.zeros(shape=(2048, 2048), dtype=R.dtype("float32"))
        v3 = R.cast(v2, dtype=R.dtype("int8"))
        if R.const(False, "bool"):
            v5 = x
        else:
            v4 = R.negative(x)
            v5 = v4
        v6 = R.shape_of(x, dtype=R.dtype("int32"))
        v7 = R.split(R.const([1.0, 2.0], "float32"), indices_or_sections=2)
        v8 = (v1, v3, v5, v6, v7[1])
        return v8

# FoldConstant: constant-call at fold_constant.py; tuple-item at simplify_inference.py; shape-of at fold_constant.py; constant-if at fold_constant.py; repeated-value at fold_constant.py; repeated-value at fold_constant.py; constant-call at fold_constant.py; constant-call at fold_constant.py

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "float32")):
        v0 = R.negative(x)
        return (R.const([4.0, 7.0], "float32"), R.filled((2048, 2048), 0, "int8"), v0, R.const([2, 6], "int32"), R.const([2.0], "float32"))
