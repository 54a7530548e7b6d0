@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):
        v0 = R.exp(y)
        def f0(a: R.Tensor((3,), "float32")):
            v1 = R.add(a, v0)
            return v1
        v2 = f0(x)
        v3 = R.mean(x)
        v4 = R.less(v3, R.const(0.0, "float32"))
        if v4:
            def f1(b: R.Tensor((3,), "float32")):
                v5 = R.multiply(b, y)
                return v5
            v7 = f1
        else:
            def f2(c: R.Tensor((3,), "float32")):
                v6 = R.negative(c)
                return v6
            v7 = f2
        v8 = v7(x)
        with R.block():
            @R.let
            def f(n: R.Tensor((), "int32")) -> R.Tensor((3,), "float32"):
                v9 = R.less(n, R.const(1, "int32"))
                if v9:
                    v13 = x
                else:
                    v10 = R.subtract(n, R.const(1, "int32"))
                    v11 = f(v10)
                    v12 = R.add(v11, y)
                    v13 = v12
                return v13
            v14 = f(R.const(3, "int32"))
            v15 = v14
        def f4(outer: R.Tensor((3,), "float32")):
            v16 = R.tanh(outer)
            def f3(inner: R.Tensor((3,), "float32")):
                v17 = R.subtract(inner, outer)
                return v17
            v18 = f3(v16)
            return v18
        v19 = f4(x)
        return (v2, v8, v15, v19, v0)

# LambdaLift: bind; lift-function; lift-function; lift-function; lift-function; lift-function; lift-function

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):
        v0: R.let = R.exp(y)
        v1 = G.main_lambda0(v0, x)
        v2 = R.mean(x)
        v3 = R.less(v2, R.const(0.0, "float32"))
        if v3:
            v4 = G.main_lambda1(y)
            v5 = v4
        else:
            v5 = G.main_lambda2
        v6 = v5(x)
        with R.block():
            f: R.let = G.main_lambda3(x, y)
            v7 = f(R.const(3, "int32"))
            v8 = v7
        v9 = G.main_lambda5(x)
        return (v1, v6, v8, v9, v0)

    @R.function
    def main_lambda0(v0: R.Tensor((3,), "float32"), a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        v1 = R.add(a, v0)
        return v1

    @R.function(attrs={"Closure": 1})
    def main_lambda1(y: R.Tensor((3,), "float32")) -> R.Func((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32")):
        def f0(b: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            v0 = R.multiply(b, y)
            return v0
        return f0

    @R.function
    def main_lambda2(c: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        v0 = R.negative(c)
        return v0

    @R.function(attrs={"Closure": 1})
    def main_lambda3(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")) -> R.Func((R.Tensor((), "int32"),), R.Tensor((3,), "float32")):
        def f0(n: R.Tensor((), "int32")) -> R.Tensor((3,), "float32"):
            v0 = R.less(n, R.const(1, "int32"))
            if v0:
                v5 = x
            else:
                v1 = R.subtract(n, R.const(1, "int32"))
                v2 = G.main_lambda3(x, y)
                v3 = v2(v1)
                v4 = R.add(v3, y)
                v5 = v4
            return v5
        return f0

    @R.function
    def main_lambda4(outer: R.Tensor((3,), "float32"), inner: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        v0 = R.subtract(inner, outer)
        return v0

    @R.function
    def main_lambda5(outer: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        v0 = R.tanh(outer)
        v1 = G.main_lambda4(outer, v0)
        return v1
