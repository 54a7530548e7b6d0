@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.layout_transform(x, src_layout="NCHW", dst_layout="NCHW4c")
        v1 = R.layout_transform(v0, src_layout="NCHW4c", dst_layout="NCHW")
        return v1

# SimplifyExprPostAlterOp: move-of-move; same-layout

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        return x
