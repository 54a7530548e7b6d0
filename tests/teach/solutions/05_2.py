from workbench import te


def answer(n, m):
    A = te.placeholder((n, m), name="A")
    W = te.placeholder((3, 3), name="W")
    y, x = te.reduce_axis((0, 3), name="y"), te.reduce_axis((0, 3), name="x")
    C = te.compute((n - 2, m - 2), lambda i, j: te.sum(A[i + y, j + x] * W[y, x], axis=[y, x]), name="C")
    return [A, W, C]
