@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.nn.batch_norm(x, R.const([0.037719067, -0.03963146, 0.1921268, 0.031470034], "float32"), R.const([0.037719067, -0.03963146, 0.1921268, 0.031470034], "float32"), R.const([0.037719067, -0.03963146, 0.1921268, 0.031470034], "float32"), R.const([1.0, 1.0, 1.0, 1.0], "float32"))
        return v0[0]

# SimplifyInference: decompose at simplify_inference.py; tuple-item at simplify_inference.py

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.add(R.const([1.0, 1.0, 1.0, 1.0], "float32"), R.const(1e-05, "float32"))
        v1 = R.sqrt(v0)
        v2 = R.divide(R.const(1.0, "float32"), v1)
        v3 = R.multiply(v2, R.const([0.037719067, -0.03963146, 0.1921268, 0.031470034], "float32"))
        v4 = R.expand_dims(v3, axis=1, num_newaxis=2)
        v5 = R.multiply(x, v4)
        v6 = R.negative(R.const([0.037719067, -0.03963146, 0.1921268, 0.031470034], "float32"))
        v7 = R.multiply(v6, v3)
        v8 = R.add(v7, R.const([0.037719067, -0.03963146, 0.1921268, 0.031470034], "float32"))
        v9 = R.expand_dims(v8, axis=1, num_newaxis=2)
        v10 = R.add(v5, v9)
        return v10
