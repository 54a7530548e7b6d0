@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.mean(x)
        v1 = R.less(v0, R.const(0.0, "float32"))
        v2 = R.negative(x)
        v3 = R.split(v2, indices_or_sections=2, axis=1)
        if v1:
            v4 = R.exp(v3[0])
            v5 = R.exp(v4)
            v7 = v5
        else:
            v6 = R.tanh(v3[1])
            v7 = v6
        return v7

# FuseOps-blocks: fuse at fuse_ops.py; fuse at fuse_ops.py; fuse at fuse_ops.py; fuse at fuse_ops.py; fuse at fuse_ops.py

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        @R.function(attrs={"Primitive": 1})
        def fused_mean(p0: R.Tensor((1, 4, 6, 6), "float32")) -> R.Tensor((), "float32"):
            v0 = R.mean(p0)
            return v0
        v0 = fused_mean(x)
        @R.function(attrs={"Primitive": 1})
        def fused_less(p0: R.Tensor((), "float32")) -> R.Tensor((), "bool"):
            v0 = R.less(p0, R.const(0.0, "float32"))
            return v0
        v1 = fused_less(v0)
        @R.function(attrs={"Primitive": 1})
        def fused_negative_split(p0: R.Tensor((1, 4, 6, 6), "float32")) -> R.Tuple(R.Tensor((1, 2, 6, 6), "float32"), R.Tensor((1, 2, 6, 6), "float32")):
            v0 = R.negative(p0)
            v1 = R.split(v0, indices_or_sections=2, axis=1)
            return v1
        v2 = fused_negative_split(x)
        if v1:
            @R.function(attrs={"Primitive": 1})
            def fused_exp_exp(p0: R.Tensor((1, 2, 6, 6), "float32")) -> R.Tensor((1, 2, 6, 6), "float32"):
                v0 = R.exp(p0)
                v1 = R.exp(v0)
                return v1
            v3 = fused_exp_exp(v2[0])
            v5 = v3
        else:
            @R.function(attrs={"Primitive": 1})
            def fused_tanh(p0: R.Tensor((1, 2, 6, 6), "float32")) -> R.Tensor((1, 2, 6, 6), "float32"):
                v0 = R.tanh(p0)
                return v0
            v4 = fused_tanh(v2[1])
            v5 = v4
        return v5
