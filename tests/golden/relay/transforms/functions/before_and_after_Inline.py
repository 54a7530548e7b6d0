@I.ir_module
class Module:
    @R.function(attrs={"Inline": 1})
    def add_one(a: R.Tensor((3,), "float32")):
        inner: R.let = R.add(a, R.const(1.0, "float32"))
        return inner

    @R.function(attrs={"Inline": 1})
    def twice(b: R.Tensor((3,), "float32")):
        v0 = G.add_one(b)
        v1 = G.add_one(v0)
        return v1

    @R.function
    def main(x: R.Tensor((3,), "float32")):
        v0 = G.twice(x)
        v1 = G.twice(v0)
        return v1

# Inline: inline-function; inline-function; inline-function; inline-function

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        with R.block():
            with R.block():
                with R.block():
                    inner: R.let = R.add(x, R.const(1.0, "float32"))
                    v0 = inner
                inner_1: R.let[R.var("inner")] = R.add(v0, R.const(1.0, "float32"))
                v1 = inner_1
            inner_2: R.let[R.var("inner")] = R.add(v1, R.const(1.0, "float32"))
            v2 = inner_2
        inner_3: R.let[R.var("inner")] = R.add(v2, R.const(1.0, "float32"))
        return inner_3
