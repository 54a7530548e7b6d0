@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 8), "float32")):
        v0 = R.nn.dense(x, R.constant("9cd8508e91eb5756307af31ba4fe3175101dd1cf07120d2aa9a9e66bccdf3c6a", (5, 8), "float32"))
        v1 = R.nn.bias_add(v0, R.const([0.20865592, -0.29384226, -0.4720471, -0.8774912, -0.10596965], "float32"), axis=-1)
        v2 = R.clip(v1, a_min=-0.5, a_max=0.5)
        v3 = R.nn.dense(x, R.constant("91b3d13c9ea0453eb48b38db975320309d1efe4048a77d2446a04b802595aad5", (2, 8), "float32"))
        v4 = R.nn.bias_add(v3, R.const([0.01025783, 0.40792426], "float32"), axis=-1)
        v5 = R.clip(v4, a_min=-0.5, a_max=0.5)
        v6 = R.nn.dense(x, R.constant("2ea5bb628fad0181b09fd7d99b72792204676c06def5e51aca05eae9a02d362e", (3, 8), "float32"))
        v7 = R.nn.bias_add(v6, R.const([-0.002048034, 0.31384298, 0.22247653], "float32"), axis=-1)
        v8 = R.clip(v7, a_min=-0.5, a_max=0.5)
        return (v2, v5, v8)

# CombineParallelDense-flat: combine

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 8), "float32")):
        v0 = R.concatenate((R.constant("9cd8508e91eb5756307af31ba4fe3175101dd1cf07120d2aa9a9e66bccdf3c6a", (5, 8), "float32"), R.constant("91b3d13c9ea0453eb48b38db975320309d1efe4048a77d2446a04b802595aad5", (2, 8), "float32"), R.constant("2ea5bb628fad0181b09fd7d99b72792204676c06def5e51aca05eae9a02d362e", (3, 8), "float32")))
        v1 = R.nn.dense(x, v0, units=10)
        v2 = R.concatenate((R.const([0.20865592, -0.29384226, -0.4720471, -0.8774912, -0.10596965], "float32"), R.const([0.01025783, 0.40792426], "float32"), R.const([-0.002048034, 0.31384298, 0.22247653], "float32")))
        v3 = R.add(v1, v2)
        v4 = R.clip(v3, a_min=-0.5, a_max=0.5)
        v5 = R.strided_slice(v4, begin=(0,), end=(5,), axes=(1,))
        v6 = R.strided_slice(v4, begin=(5,), end=(7,), axes=(1,))
        v7 = R.strided_slice(v4, begin=(7,), end=(10,), axes=(1,))
        return (v5, v6, v7)
