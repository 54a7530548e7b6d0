@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "float32")):
        v0 = R.divide(x, R.const(3.0, "float32"))
        v1 = R.divide(x, R.const([1.0, 2.0, 4.0, 5.0, -6.0, 0.001], "float32"))
        v2 = R.divide(v0, v1)
        return v2

# DivToMul: divide-by-constant; divide-by-constant

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "float32")):
        v0 = R.multiply(x, R.const(0.33333334, "float32"))
        v1 = R.multiply(x, R.const([1.0, 0.5, 0.25, 0.2, -0.16666667, 999.99994], "float32"))
        v2 = R.divide(v0, v1)
        return v2
