@I.ir_module
class Module:
    @R.type(type_vars=(A,))
    class List:
        A = R.type_var("TYPE")
        R.constructor("Nil")
        R.constructor("Cons", A, G.List[A])

    @R.function
    def double(item: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        v0 = R.add(item, item)
        return v0

    @R.function
    def main(x: R.Tensor((3,), "float32")):
        @R.let
        def apply(g: R.Func((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32"))):
            v0 = g(x)
            return v0
        v1 = apply(G.double)
        return (v1, G.List.Cons)

# EtaExpand: eta-expand; eta-expand

@I.ir_module
class Module:
    @R.type(type_vars=(A,))
    class List:
        A = R.type_var("TYPE")
        R.constructor("Nil")
        R.constructor("Cons", A, G.List[A])

    @R.function
    def double(item: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        v0 = R.add(item, item)
        return v0

    @R.function
    def main(x: R.Tensor((3,), "float32")):
        A = R.type_var("TYPE")
        @R.let
        def apply(g: R.Func((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32"))):
            v0 = g(x)
            return v0
        def f0(a0: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            v1 = G.double(a0)
            return v1
        v2 = apply(f0)
        @R.function(type_params=(A,))
        def f1(a0_1: R.var("a0", A), a1: G.List[A]) -> G.List[A]:
            v3 = G.List.Cons(a0_1, a1)
            return v3
        return (v2, f1)
