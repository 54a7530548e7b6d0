@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "int8")):
        v0 = R.cast(x, dtype=R.dtype("float32"))
        v1 = R.exp(v0)
        v2 = R.add(v0, v0)
        v3 = R.mean(v0)
        v4 = R.cast(v0, dtype=R.dtype("int8"))
        return (v1, v2, v3, v4)

# CanonicalizeCast: cast-for-each-reader; cast-for-each-reader; cast-for-each-reader

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "int8")):
        v0 = R.cast(x, dtype=R.dtype("float32"))
        v1 = R.exp(v0)
        v2 = R.cast(x, dtype=R.dtype("float32"))
        v3 = R.add(v2, v2)
        v4 = R.cast(x, dtype=R.dtype("float32"))
        v5 = R.mean(v4)
        v6 = R.cast(x, dtype=R.dtype("float32"))
        v7 = R.cast(v6, dtype=R.dtype("int8"))
        return (v1, v3, v5, v7)
