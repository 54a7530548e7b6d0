@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 7, 8, 4), "float32")):
        v0 = R.nn.space_to_batch_nd(x, block_shape=(2, 3), paddings=((2, 3), (3, 1)))
        v1 = R.nn.conv2d(v0, R.constant("c73b092b926440251124294d7c4a0be36c64e067ebb466cb2ded690c69d291d1", (2, 2, 4, 2), "float32"), data_layout="NHWC", kernel_layout="HWIO")
        v2 = R.nn.batch_to_space_nd(v1, block_shape=(2, 3), crops=((0, 1), (1, 0)))
        return v2

# FlattenAtrousConv: dilated-conv2d

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 7, 8, 4), "float32")):
        v0 = R.nn.conv2d(x, R.constant("c73b092b926440251124294d7c4a0be36c64e067ebb466cb2ded690c69d291d1", (2, 2, 4, 2), "float32"), padding=(2, 2, 2, 1), dilation=(2, 3), data_layout="NHWC", kernel_layout="HWIO")
        return v0
