@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.nn.conv2d(x, R.constant("341437df601e1c844fff11ccfa2c1ada94e19d04edad0fd326d8595b7283e83e", (4, 4, 1, 1), "float32"))
        v1 = R.add(v0, R.const([[[0.0]], [[0.33333334]], [[0.6666667]], [[1.0]]], "float32"))
        v2 = R.nn.relu(v1)
        v3 = R.multiply(v2, R.const([[[0.5]], [[1.0]], [[1.5]], [[2.0]]], "float32"))
        return v3

# BackwardFoldScaleAxis: scale-before-relu at fold_scale_axis.py; scale-after-sum at fold_scale_axis.py

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.multiply(R.constant("341437df601e1c844fff11ccfa2c1ada94e19d04edad0fd326d8595b7283e83e", (4, 4, 1, 1), "float32"), R.const([[[[0.5]]], [[[1.0]]], [[[1.5]]], [[[2.0]]]], "float32"))
        v1 = R.nn.conv2d(x, v0)
        v2 = R.multiply(R.const([[[0.0]], [[0.33333334]], [[0.6666667]], [[1.0]]], "float32"), R.const([[[0.5]], [[1.0]], [[1.5]], [[2.0]]], "float32"))
        v3 = R.add(v1, v2)
        v4 = R.nn.relu(v3)
        return v4
