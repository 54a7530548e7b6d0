@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.nn.conv2d(x, R.constant("341437df601e1c844fff11ccfa2c1ada94e19d04edad0fd326d8595b7283e83e", (4, 4, 1, 1), "float32"))
        v1 = R.nn.conv2d(x, R.constant("59492de45d379879a053fcf3ddf2329b4b4a247f13089e8bdb54b764b8dc082d", (4, 4, 3, 3), "float32"), padding=(1, 1, 1, 1))
        v2 = R.add(v1, R.const([[[0.0]], [[0.33333334]], [[0.6666667]], [[1.0]]], "float32"))
        v3 = R.nn.relu(v2)
        v4 = R.add(v0, v3)
        v5 = R.nn.relu(v4)
        v6 = R.multiply(x, R.const(2.0, "float32"))
        v7 = R.concatenate((v5, v6), axis=1)
        v8 = R.exp(v7)
        v9 = R.mean(v8, axis=(2, 3))
        return (v9, v3)

# FuseOps: fuse at fuse_ops.py; fuse at fuse_ops.py; fuse at fuse_ops.py; fuse at fuse_ops.py

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        @R.function(attrs={"Primitive": 1})
        def fused_conv2d_add_relu(p0: R.Tensor((1, 4, 6, 6), "float32"), p1: R.Tensor((4, 4, 3, 3), "float32"), p2: R.Tensor((4, 1, 1), "float32")) -> R.Tensor((1, 4, 6, 6), "float32"):
            v0 = R.nn.conv2d(p0, p1, padding=(1, 1, 1, 1))
            v1 = R.add(v0, p2)
            v2 = R.nn.relu(v1)
            return v2
        v0 = fused_conv2d_add_relu(x, R.constant("59492de45d379879a053fcf3ddf2329b4b4a247f13089e8bdb54b764b8dc082d", (4, 4, 3, 3), "float32"), R.const([[[0.0]], [[0.33333334]], [[0.6666667]], [[1.0]]], "float32"))
        @R.function(attrs={"Primitive": 1})
        def fused_conv2d_add_relu_1(p0: R.Tensor((1, 4, 6, 6), "float32"), p1: R.Tensor((4, 4, 1, 1), "float32"), p2: R.Tensor((1, 4, 6, 6), "float32")) -> R.Tensor((1, 4, 6, 6), "float32"):
            v0 = R.nn.conv2d(p0, p1)
            v1 = R.add(v0, p2)
            v2 = R.nn.relu(v1)
            return v2
        v1 = fused_conv2d_add_relu_1(x, R.constant("341437df601e1c844fff11ccfa2c1ada94e19d04edad0fd326d8595b7283e83e", (4, 4, 1, 1), "float32"), v0)
        @R.function(attrs={"Primitive": 1})
        def fused_multiply_concatenate(p0: R.Tensor((1, 4, 6, 6), "float32"), p1: R.Tensor((1, 4, 6, 6), "float32")) -> R.Tensor((1, 8, 6, 6), "float32"):
            v0 = R.multiply(p1, R.const(2.0, "float32"))
            v1 = R.concatenate((p0, v0), axis=1)
            return v1
        v2 = fused_multiply_concatenate(v1, x)
        @R.function(attrs={"Primitive": 1})
        def fused_exp_mean(p0: R.Tensor((1, 8, 6, 6), "float32")) -> R.Tensor((1, 8), "float32"):
            v0 = R.exp(p0)
            v1 = R.mean(v0, axis=(2, 3))
            return v1
        v3 = fused_exp_mean(v2)
        return (v3, v0)
