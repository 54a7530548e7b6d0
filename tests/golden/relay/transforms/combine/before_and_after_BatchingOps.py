@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 8), "float32")):
        v0 = R.nn.dense(x, R.constant("478e1bdb985d7229042b93b8cfb5964f022f707dc154091a50efb8a87828a3e9", (4, 8), "float32"))
        v1 = R.nn.bias_add(v0, R.const([0.548027, -0.9234996, 0.2874192, 0.02089117], "float32"), axis=-1)
        v2 = R.clip(v1, a_min=-0.5, a_max=0.5)
        v3 = R.nn.dense(x, R.constant("88a3f6a72ef5244f29b5505917274513aa6da0159b0622bd2318272fde30c20c", (4, 8), "float32"))
        v4 = R.nn.bias_add(v3, R.const([0.548027, -0.9234996, 0.2874192, 0.02089117], "float32"), axis=-1)
        v5 = R.clip(v4, a_min=-0.5, a_max=0.5)
        v6 = R.nn.dense(x, R.constant("80946ece151c022fdfd460b7700faa332bccaf774cde1daf5869f89babcc723b", (4, 8), "float32"))
        v7 = R.nn.bias_add(v6, R.const([0.548027, -0.9234996, 0.2874192, 0.02089117], "float32"), axis=-1)
        v8 = R.clip(v7, a_min=-0.5, a_max=0.5)
        return (v2, v5, v8)

# BatchingOps: combine

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 8), "float32")):
        v0 = R.expand_dims(x, axis=0)
        v1 = R.stack((R.constant("478e1bdb985d7229042b93b8cfb5964f022f707dc154091a50efb8a87828a3e9", (4, 8), "float32"), R.constant("88a3f6a72ef5244f29b5505917274513aa6da0159b0622bd2318272fde30c20c", (4, 8), "float32"), R.constant("80946ece151c022fdfd460b7700faa332bccaf774cde1daf5869f89babcc723b", (4, 8), "float32")))
        v2 = R.nn.batch_matmul(v0, v1)
        v3 = R.add(v2, R.const([0.548027, -0.9234996, 0.2874192, 0.02089117], "float32"))
        v4 = R.clip(v3, a_min=-0.5, a_max=0.5)
        v5 = R.strided_slice(v4, begin=(0,), end=(1,), axes=(0,))
        v6 = R.squeeze(v5, axis=(0,))
        v7 = R.strided_slice(v4, begin=(1,), end=(2,), axes=(0,))
        v8 = R.squeeze(v7, axis=(0,))
        v9 = R.strided_slice(v4, begin=(2,), end=(3,), axes=(0,))
        v10 = R.squeeze(v9, axis=(0,))
        return (v6, v8, v10)
