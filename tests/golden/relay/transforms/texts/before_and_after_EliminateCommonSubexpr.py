@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "float32")):
        v0 = R.exp(x)
        v1 = R.exp(x)
        v2 = R.add(v0, v1)
        if R.const(True, "bool"):
            v3 = R.exp(x)
            v4 = R.tanh(v3)
            v7 = v4
        else:
            v5 = R.exp(x)
            v6 = R.tanh(v5)
            v7 = v6
        v8 = R.multiply(v2, v7)
        return v8

# EliminateCommonSubexpr: merge-equal at common_subexpr.py; merge-equal at common_subexpr.py; merge-equal at common_subexpr.py

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "float32")):
        v0 = R.exp(x)
        v1 = R.add(v0, v0)
        if R.const(True, "bool"):
            v2 = R.tanh(v0)
            v4 = v2
        else:
            v3 = R.tanh(v0)
            v4 = v3
        v5 = R.multiply(v1, v4)
        return v5
