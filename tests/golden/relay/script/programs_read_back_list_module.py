@I.ir_module
class Module:
    @R.type(type_vars=(A,))
    class List:
        A = R.type_var("TYPE")
        R.constructor("Nil")
        R.constructor("Cons", A, G.List[A])

    @R.function(type_params=(B,))
    def length(items: G.List[B]) -> R.Tensor((), "int32"):
        B = R.type_var("TYPE")
        match R.complete(items):
            case G.List.Cons(head, tail):
                v0 = G.length(tail)
                v1 = R.add(R.const(1, "int32"), v0)
                v2 = v1
            case G.List.Nil():
                v2 = R.const(0, "int32")
        return v2

    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        v0 = G.List.Nil()
        v1 = G.List.Cons(x, v0)
        v2 = G.List.Cons(x, v1)
        v3 = G.length(v2)
        return v3
