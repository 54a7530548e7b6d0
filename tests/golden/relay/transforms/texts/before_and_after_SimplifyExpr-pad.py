@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.nn.pad(x, pad_width=((0, 0), (0, 0), (1, 1), (0, 2)))
        v1 = R.nn.conv2d(v0, R.constant("4c7e7a739a221d131c84029b33da78f0fba8b3db517fa1769b68cb5916130996", (2, 4, 3, 3), "float32"))
        return v1

# SimplifyExpr-pad: pad-into-convolution at fold_explicit_padding.py

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.nn.conv2d(x, R.constant("4c7e7a739a221d131c84029b33da78f0fba8b3db517fa1769b68cb5916130996", (2, 4, 3, 3), "float32"), padding=(1, 0, 1, 2))
        return v0
