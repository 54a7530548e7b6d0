@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.nn.conv2d(x, R.constant("59492de45d379879a053fcf3ddf2329b4b4a247f13089e8bdb54b764b8dc082d", (4, 4, 3, 3), "float32"))
        v1 = R.add(v0, R.const([[[0.037719067]], [[-0.03963146]], [[0.1921268]], [[0.031470034]]], "float32"))
        v2 = R.nn.relu(v1)
        v3 = R.tanh(v2)
        v4 = R.concatenate((v2, v3), axis=1)
        v5 = R.nn.softmax(v4, axis=1)
        return (v5, v4)


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.cast(x, dtype=R.dtype("float16"))
        v1 = R.cast(R.constant("59492de45d379879a053fcf3ddf2329b4b4a247f13089e8bdb54b764b8dc082d", (4, 4, 3, 3), "float32"), dtype=R.dtype("float16"))
        v2 = R.nn.conv2d(v0, v1, out_dtype=R.dtype("float32"))
        v3 = R.cast(v2, dtype=R.dtype("float16"))
        v4 = R.cast(R.const([[[0.037719067]], [[-0.03963146]], [[0.1921268]], [[0.031470034]]], "float32"), dtype=R.dtype("float16"))
        v5 = R.add(v3, v4)
        v6 = R.nn.relu(v5)
        v7 = R.tanh(v6)
        v8 = R.concatenate((v6, v7), axis=1)
        v9 = R.cast(v8, dtype=R.dtype("float32"))
        v10 = R.nn.softmax(v9, axis=1)
        return (v10, v8)
