@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.nn.conv2d(x, R.constant("59492de45d379879a053fcf3ddf2329b4b4a247f13089e8bdb54b764b8dc082d", (4, 4, 3, 3), "float32"), padding=(1, 1, 1, 1))
        v1 = R.add(v0, R.const([[[0.037719067]], [[-0.03963146]], [[0.1921268]], [[0.031470034]]], "float32"))
        v2 = R.nn.relu(v1)
        v3 = R.nn.conv2d(v2, R.constant("ebf38589c74c0bdf7857e7095b15c0e57f6d9da4f7b5f7afcde68147b0b1bd38", (4, 4, 3, 3), "float32"), padding=(1, 1, 1, 1))
        v4 = R.nn.max_pool2d(v3, pool_size=(3, 3), padding=(1, 1, 1, 1))
        v5 = R.add(v4, v2)
        v6 = R.concatenate((v5, v4), axis=1)
        v7 = R.mean(v6, axis=(2, 3))
        v8 = R.reshape(v2, newshape=(4, 36))
        return (v7, v8)

# blocks: move; arrange; move; arrange; arrange; arrange; arrange; arrange; move; move; arrange; arrange; move; move

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.layout_transform(x, src_layout="NCHW", dst_layout="NCHW2c")
        v1 = R.nn.conv2d(v0, R.constant("59492de45d379879a053fcf3ddf2329b4b4a247f13089e8bdb54b764b8dc082d", (4, 4, 3, 3), "float32"), padding=(1, 1, 1, 1), channels=4, data_layout="NCHW2c")
        v2 = R.expand_dims(R.const([[[0.037719067]], [[-0.03963146]], [[0.1921268]], [[0.031470034]]], "float32"), axis=0)
        v3 = R.layout_transform(v2, src_layout="NCHW", dst_layout="NCHW2c")
        v4 = R.add(v1, v3)
        v5 = R.nn.relu(v4)
        v6 = R.nn.conv2d(v5, R.constant("ebf38589c74c0bdf7857e7095b15c0e57f6d9da4f7b5f7afcde68147b0b1bd38", (4, 4, 3, 3), "float32"), padding=(1, 1, 1, 1), channels=4, data_layout="NCHW2c")
        v7 = R.nn.max_pool2d(v6, pool_size=(3, 3), padding=(1, 1, 1, 1), layout="NCHW2c")
        v8 = R.add(v7, v5)
        v9 = R.concatenate((v8, v7), axis=1)
        v10 = R.mean(v9, axis=(2, 3))
        v11 = R.layout_transform(v10, src_layout="NC2c", dst_layout="NC")
        v12 = R.layout_transform(v5, src_layout="NCHW2c", dst_layout="NCHW")
        v13 = R.reshape(v12, newshape=(4, 36))
        return (v11, v13)
