def answer(func):
    n = func.params[0].shape[0].value
    return f"""
@T.prim_func
def main(A: T.Buffer(({n},), "float32"), B: T.Buffer(({n},), "float32")):
    with T.block("root"):
        T.reads(B[0:{n}], A[0:{n}])
        T.writes(B[0:{n}])
        B[T.ramp(0, 1, {n})] = B[T.ramp(0, 1, {n})] + A[T.ramp(0, 1, {n})] * T.broadcast(T.float32(3), {n})
"""
