@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32"), v: R.Tensor((4, 4), "float32"), u: R.Tensor((4, 4), "float32")):
        v0 = R.transpose(w, axes=(1, 0))
        v1 = R.nn.dense(x, v0)
        v2 = R.transpose(v)
        v3 = R.nn.dense(v1, v2)
        v4 = R.transpose(u, axes=(1, 0))
        v5 = R.nn.dense(v3, v4)
        v6 = R.nn.dense(v1, u)
        v7 = R.add(v5, v6)
        return v7


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((4, 3), "float32"), v: R.Tensor((4, 4), "float32"), u: R.Tensor((4, 4), "float32")):
        v0 = R.nn.dense(x, w)
        v1 = R.nn.dense(v0, v)
        v2 = R.transpose(u, axes=(1, 0))
        v3 = R.nn.dense(v1, v2)
        v4 = R.nn.dense(v0, u)
        v5 = R.add(v3, v4)
        return v5
