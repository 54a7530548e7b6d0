@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "float32")):
        v0 = R.multiply(x, R.const(1.0, "float32"))
        v1 = R.reshape(v0, newshape=(12,))
        v2 = R.reshape(v1, newshape=(3, 4))
        v3 = R.transpose(v2, axes=(1, 0))
        v4 = R.transpose(v3, axes=(1, 0))
        v5 = R.clip(v4, a_min=0.0, a_max=8.0)
        v6 = R.nn.relu(v5)
        v7 = R.clip(v6, a_min=-1.0, a_max=6.0)
        v8 = R.cast(v7, dtype=R.dtype("float64"))
        v9 = R.cast(v8, dtype=R.dtype("float32"))
        return v9

# SimplifyExpr: multiply-one at simplify_expr.py; reshape-of-reshape at simplify_expr.py; transpose-of-transpose at simplify_expr.py; identity-transpose at simplify_expr.py; relu-of-clip at simplify_expr.py; clip-of-clip at simplify_expr.py; cast-of-cast at simplify_expr.py; identity-cast at simplify_expr.py

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "float32")):
        v0 = R.reshape(x, newshape=(3, 4))
        v1 = R.clip(v0, a_min=0.0, a_max=6.0)
        return v1
