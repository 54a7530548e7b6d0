@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "float32"), wide: R.Tensor((3,), "float64")):
        v0 = R.exp(x)
        v1 = R.nn.softmax(v0, axis=0)
        v2 = R.tanh(x)
        v3 = R.erf(v2)
        v4 = R.exp(wide)
        return (v1, v3, v4)

# FastMath: fast-variant; fast-variant; fast-variant; fast-variant

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "float32"), wide: R.Tensor((3,), "float64")):
        v0 = R.fast_exp(x)
        v1 = R.nn.fast_softmax(v0, axis=0)
        v2 = R.fast_tanh(x)
        v3 = R.fast_erf(v2)
        v4 = R.exp(wide)
        return (v1, v3, v4)
