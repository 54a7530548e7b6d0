@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 7, 8), "float32")):
        v0 = R.nn.space_to_batch_nd(x, block_shape=(1, 2, 3), paddings=((0, 0), (2, 3), (3, 1)))
        v1 = R.nn.conv2d(v0, R.constant("6e5e46e623809f4db8b3c133881fd754589cc702a73515e725f3fcbd03a32854", (2, 4, 2, 2), "float32"))
        v2 = R.nn.batch_to_space_nd(v1, block_shape=(1, 2, 3), crops=((0, 0), (0, 1), (1, 0)))
        return v2

# FlattenAtrousConv-NCHW: dilated-conv2d

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 7, 8), "float32")):
        v0 = R.nn.conv2d(x, R.constant("6e5e46e623809f4db8b3c133881fd754589cc702a73515e725f3fcbd03a32854", (2, 4, 2, 2), "float32"), padding=(2, 2, 2, 1), dilation=(2, 3))
        return v0
