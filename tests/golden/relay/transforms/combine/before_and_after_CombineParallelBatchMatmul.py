@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor((2, 3, 4), "float32"), b2: R.Tensor((2, 2, 4), "float32"), b1: R.Tensor((2, 1, 4), "float32"), b3: R.Tensor((2, 3, 4), "float32")):
        v0 = R.nn.batch_matmul(a, b2)
        v1 = R.multiply(v0, R.const(0.5, "float32"))
        v2 = R.nn.batch_matmul(a, b1)
        v3 = R.multiply(v2, R.const(0.5, "float32"))
        v4 = R.nn.batch_matmul(a, b3)
        v5 = R.multiply(v4, R.const(0.5, "float32"))
        return (v1, v3, v5)

# CombineParallelBatchMatmul: combine

@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor((2, 3, 4), "float32"), b2: R.Tensor((2, 2, 4), "float32"), b1: R.Tensor((2, 1, 4), "float32"), b3: R.Tensor((2, 3, 4), "float32")):
        v0 = R.concatenate((b2, b1, b3), axis=-2)
        v1 = R.nn.batch_matmul(a, v0)
        v2 = R.multiply(v1, R.const(0.5, "float32"))
        v3 = R.strided_slice(v2, begin=(0,), end=(2,), axes=(2,))
        v4 = R.strided_slice(v2, begin=(2,), end=(3,), axes=(2,))
        v5 = R.strided_slice(v2, begin=(3,), end=(6,), axes=(2,))
        return (v3, v4, v5)
