@I.ir_module
class Module:
    @R.function
    def sum(n: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
        v0 = R.less(n, R.const(1, "int32"))
        if v0:
            v4 = R.const(0, "int32")
        else:
            v1 = R.subtract(n, R.const(1, "int32"))
            v2 = G.sum(v1)
            v3 = R.add(n, v2)
            v4 = v3
        return v4

    @R.function
    def main(m: R.Tensor((), "int32")):
        v0 = G.sum(m)
        return v0

    @R.function(attrs={"Inline": 1})
    def add_one(a: R.Tensor((3,), "float32")):
        inner: R.let = R.add(a, R.const(1.0, "float32"))
        return inner

    @R.function(attrs={"Inline": 1})
    def twice(b: R.Tensor((3,), "float32")):
        v0 = G.add_one(b)
        v1 = G.add_one(v0)
        return v1

# RemoveUnusedFunctions: remove-function; remove-function

@I.ir_module
class Module:
    @R.function
    def sum(n: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
        v0 = R.less(n, R.const(1, "int32"))
        if v0:
            v4 = R.const(0, "int32")
        else:
            v1 = R.subtract(n, R.const(1, "int32"))
            v2 = G.sum(v1)
            v3 = R.add(n, v2)
            v4 = v3
        return v4

    @R.function
    def main(m: R.Tensor((), "int32")):
        v0 = G.sum(m)
        return v0
