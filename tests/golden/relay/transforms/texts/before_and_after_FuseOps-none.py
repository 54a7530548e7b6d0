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

# FuseOps-none: fuse at fuse_ops.py; fuse at fuse_ops.py; fuse at fuse_ops.py; fuse at fuse_ops.py; fuse at fuse_ops.py; fuse at fuse_ops.py; fuse at fuse_ops.py; fuse at fuse_ops.py; fuse at fuse_ops.py; fuse at fuse_ops.py

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        @R.function(attrs={"Primitive": 1})
        def fused_conv2d(p0: R.Tensor((1, 4, 6, 6), "float32"), p1: R.Tensor((4, 4, 1, 1), "float32")) -> R.Tensor((1, 4, 6, 6), "float32"):
            v0 = R.nn.conv2d(p0, p1)
            return v0
        v0 = fused_conv2d(x, R.constant("341437df601e1c844fff11ccfa2c1ada94e19d04edad0fd326d8595b7283e83e", (4, 4, 1, 1), "float32"))
        @R.function(attrs={"Primitive": 1})
        def fused_conv2d_1(p0: R.Tensor((1, 4, 6, 6), "float32"), p1: R.Tensor((4, 4, 3, 3), "float32")) -> R.Tensor((1, 4, 6, 6), "float32"):
            v0 = R.nn.conv2d(p0, p1, padding=(1, 1, 1, 1))
            return v0
        v1 = fused_conv2d_1(x, R.constant("59492de45d379879a053fcf3ddf2329b4b4a247f13089e8bdb54b764b8dc082d", (4, 4, 3, 3), "float32"))
        @R.function(attrs={"Primitive": 1})
        def fused_add(p0: R.Tensor((1, 4, 6, 6), "float32"), p1: R.Tensor((4, 1, 1), "float32")) -> R.Tensor((1, 4, 6, 6), "float32"):
            v0 = R.add(p0, p1)
            return v0
        v2 = fused_add(v1, R.const([[[0.0]], [[0.33333334]], [[0.6666667]], [[1.0]]], "float32"))
        @R.function(attrs={"Primitive": 1})
        def fused_relu(p0: R.Tensor((1, 4, 6, 6), "float32")) -> R.Tensor((1, 4, 6, 6), "float32"):
            v0 = R.nn.relu(p0)
            return v0
        v3 = fused_relu(v2)
        @R.function(attrs={"Primitive": 1})
        def fused_add_1(p0: R.Tensor((1, 4, 6, 6), "float32"), p1: R.Tensor((1, 4, 6, 6), "float32")) -> R.Tensor((1, 4, 6, 6), "float32"):
            v0 = R.add(p0, p1)
            return v0
        v4 = fused_add_1(v0, v3)
        @R.function(attrs={"Primitive": 1})
        def fused_relu_1(p0: R.Tensor((1, 4, 6, 6), "float32")) -> R.Tensor((1, 4, 6, 6), "float32"):
            v0 = R.nn.relu(p0)
            return v0
        v5 = fused_relu_1(v4)
        @R.function(attrs={"Primitive": 1})
        def fused_multiply(p0: R.Tensor((1, 4, 6, 6), "float32")) -> R.Tensor((1, 4, 6, 6), "float32"):
            v0 = R.multiply(p0, R.const(2.0, "float32"))
            return v0
        v6 = fused_multiply(x)
        @R.function(attrs={"Primitive": 1})
        def fused_concatenate(p0: R.Tuple(R.Tensor((1, 4, 6, 6), "float32"), R.Tensor((1, 4, 6, 6), "float32"))) -> R.Tensor((1, 8, 6, 6), "float32"):
            v0 = R.concatenate(p0, axis=1)
            return v0
        v7 = fused_concatenate((v5, v6))
        @R.function(attrs={"Primitive": 1})
        def fused_exp(p0: R.Tensor((1, 8, 6, 6), "float32")) -> R.Tensor((1, 8, 6, 6), "float32"):
            v0 = R.exp(p0)
            return v0
        v8 = fused_exp(v7)
        @R.function(attrs={"Primitive": 1})
        def fused_mean(p0: R.Tensor((1, 8, 6, 6), "float32")) -> R.Tensor((1, 8), "float32"):
            v0 = R.mean(p0, axis=(2, 3))
            return v0
        v9 = fused_mean(v8)
        return (v9, v3)
