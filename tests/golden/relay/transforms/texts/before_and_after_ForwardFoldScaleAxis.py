@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.multiply(x, R.const([[[0.5]], [[1.0]], [[1.5]], [[2.0]]], "float32"))
        v1 = R.nn.conv2d(v0, R.constant("6af4121cf966370bb593768d3757622a130cd3dcaa8e965b6144baf2d7def5ab", (8, 1, 3, 3), "float32"), groups=4)
        return v1

# ForwardFoldScaleAxis: scale-before at fold_scale_axis.py

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.multiply(R.constant("6af4121cf966370bb593768d3757622a130cd3dcaa8e965b6144baf2d7def5ab", (8, 1, 3, 3), "float32"), R.const([[[[0.5]]], [[[0.5]]], [[[1.0]]], [[[1.0]]], [[[1.5]]], [[[1.5]]], [[[2.0]]], [[[2.0]]]], "float32"))
        v1 = R.nn.conv2d(x, v0, groups=4)
        return v1
