@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.nn.conv2d(x, R.constant("4b5d0f06782d0934c97af51554d137719be84b7c7fd1c59405712b063686016e", (20, 4, 3, 3), "float32"))
        v1 = R.nn.conv2d(v0, R.constant("c2508caa1c332c605650ed713e177fa6f540cbafd74fd9e279c8d38274f42f10", (2, 20, 1, 1), "float32"))
        v2 = R.nn.batch_flatten(v1)
        v3 = R.nn.dense(v2, R.constant("a023a07e818ee818ea3b49cf75f18a81a957e32c50d334ff828c3cc46d5a61db", (16, 32), "float32"))
        return v3

# PackWeights: pack-weights at pack_weights.py; pack-weights at pack_weights.py

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.layout_transform(R.constant("4b5d0f06782d0934c97af51554d137719be84b7c7fd1c59405712b063686016e", (20, 4, 3, 3), "float32"), src_layout="OIHW", dst_layout="OIHW16o")
        v1 = R.nn.conv2d(x, v0, channels=20, kernel_layout="OIHW16o")
        v2 = R.nn.conv2d(v1, R.constant("c2508caa1c332c605650ed713e177fa6f540cbafd74fd9e279c8d38274f42f10", (2, 20, 1, 1), "float32"))
        v3 = R.nn.batch_flatten(v2)
        v4 = R.layout_transform(R.constant("a023a07e818ee818ea3b49cf75f18a81a957e32c50d334ff828c3cc46d5a61db", (16, 32), "float32"), src_layout="NC", dst_layout="NC16n")
        v5 = R.nn.contrib_dense_pack(v3, v4, weight_layout="NC16n", units=16)
        return v5
