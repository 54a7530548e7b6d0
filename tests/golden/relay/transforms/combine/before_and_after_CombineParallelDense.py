@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 8), "float32")):
        v0 = R.nn.dense(x, R.constant("9cd8508e91eb5756307af31ba4fe3175101dd1cf07120d2aa9a9e66bccdf3c6a", (5, 8), "float32"))
        v1 = R.nn.bias_add(v0, R.const([0.20865592, -0.29384226, -0.4720471, -0.8774912, -0.10596965], "float32"), axis=-1)
        v2 = R.clip(v1, a_min=-0.5, a_max=0.5)
        v3 = R.nn.dense(x, R.constant("9decff75a57d8d283be987a6e6554b976cd3bf78757a6e78f7c76667770f566c", (5, 8), "float32"))
        v4 = R.nn.bias_add(v3, R.const([0.20865592, -0.29384226, -0.4720471, -0.8774912, -0.10596965], "float32"), axis=-1)
        v5 = R.clip(v4, a_min=-0.5, a_max=0.5)
        v6 = R.nn.dense(x, R.constant("39aad5a17170807d77d4ff682a554351fad320410d4af092b3deb4cdca3b5f7c", (5, 8), "float32"))
        v7 = R.nn.bias_add(v6, R.const([0.20865592, -0.29384226, -0.4720471, -0.8774912, -0.10596965], "float32"), axis=-1)
        v8 = R.clip(v7, a_min=-0.5, a_max=0.5)
        return (v2, v5, v8)

# CombineParallelDense: combine

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 8), "float32")):
        v0 = R.expand_dims(x, axis=0)
        v1 = R.stack((R.constant("9cd8508e91eb5756307af31ba4fe3175101dd1cf07120d2aa9a9e66bccdf3c6a", (5, 8), "float32"), R.constant("9decff75a57d8d283be987a6e6554b976cd3bf78757a6e78f7c76667770f566c", (5, 8), "float32"), R.constant("39aad5a17170807d77d4ff682a554351fad320410d4af092b3deb4cdca3b5f7c", (5, 8), "float32")))
        v2 = R.nn.batch_matmul(v0, v1)
        v3 = R.add(v2, R.const([0.20865592, -0.29384226, -0.4720471, -0.8774912, -0.10596965], "float32"))
        v4 = R.clip(v3, a_min=-0.5, a_max=0.5)
        v5 = R.strided_slice(v4, begin=(0,), end=(1,), axes=(0,))
        v6 = R.squeeze(v5, axis=(0,))
        v7 = R.strided_slice(v4, begin=(1,), end=(2,), axes=(0,))
        v8 = R.squeeze(v7, axis=(0,))
        v9 = R.strided_slice(v4, begin=(2,), end=(3,), axes=(0,))
        v10 = R.squeeze(v9, axis=(0,))
        return (v6, v8, v10)
