@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        v0 = R.mean(x)
        v1 = R.less(v0, R.const(0.0, "float32"))
        v2 = R.exp(x)
        if v1:
            v3 = R.tanh(v2)
            v5 = v3
        else:
            v4 = R.negative(v2)
            v5 = v4
        return v5

# ToBasicBlockNormalForm: bind

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        v0: R.let = R.exp(x)
        v1 = R.mean(x)
        v2 = R.less(v1, R.const(0.0, "float32"))
        if v2:
            v3 = R.tanh(v0)
            v5 = v3
        else:
            v4 = R.negative(v0)
            v5 = v4
        return v5
