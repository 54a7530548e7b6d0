@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.nn.bias_add(x, R.const([0.037719067, -0.03963146, 0.1921268, 0.031470034], "float32"))
        v1 = R.nn.bias_add(v0, R.const([0.037719067, -0.03963146, 0.1921268, 0.031470034, -0.16070081, 0.10847852], "float32"), axis=-1)
        v2 = R.nn.bias_add(v1, R.const([0.10367526, 0.24648544, 0.09913112, -0.39094716, 0.27160677, 0.13391237], "float32"), axis=2)
        return v2

# CanonicalizeOps: bias-add; bias-add; bias-add

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.expand_dims(R.const([0.037719067, -0.03963146, 0.1921268, 0.031470034], "float32"), axis=1, num_newaxis=2)
        v1 = R.add(x, v0)
        v2 = R.add(v1, R.const([0.037719067, -0.03963146, 0.1921268, 0.031470034, -0.16070081, 0.10847852], "float32"))
        v3 = R.expand_dims(R.const([0.10367526, 0.24648544, 0.09913112, -0.39094716, 0.27160677, 0.13391237], "float32"), axis=1)
        v4 = R.add(v2, v3)
        return v4
