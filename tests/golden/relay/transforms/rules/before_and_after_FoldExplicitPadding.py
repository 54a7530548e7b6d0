@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.nn.pad(x, pad_width=((0, 0), (0, 0), (1, 0), (0, 1)))
        v1 = R.nn.conv2d(v0, R.constant("4c7e7a739a221d131c84029b33da78f0fba8b3db517fa1769b68cb5916130996", (2, 4, 3, 3), "float32"), padding=(1, 0, 0, 2))
        v2 = R.transpose(x, axes=(0, 2, 3, 1))
        v3 = R.nn.pad(v2, pad_width=((0, 0), (1, 1), (1, 2), (0, 0)))
        v4 = R.nn.conv2d(v3, R.constant("238e29039c966915cdeaed4bd097dbe49e33678989928788f28b67dab93d34a3", (3, 3, 4, 2), "float32"), data_layout="NHWC", kernel_layout="HWIO")
        v5 = R.reshape(x, newshape=(1, 4, 36))
        v6 = R.nn.pad(v5, pad_width=((0, 0), (0, 0), (2, 1)))
        v7 = R.nn.conv1d(v6, R.constant("f015df163c0970dd14c7c5ae7e173a3b4ad5a09bea606a44bc7341d51e3c4a73", (2, 4, 3), "float32"))
        v8 = R.reshape(x, newshape=(1, 1, 4, 6, 6))
        v9 = R.nn.pad(v8, pad_width=((0, 0), (0, 0), (1, 1), (0, 1), (1, 0)))
        v10 = R.nn.conv3d(v9, R.constant("72f004f2ba966c71332d3b5ab0db0981a3525738ea2b43063a6d78ddccf4c64f", (2, 1, 2, 2, 2), "float32"))
        v11 = R.nn.pad(x, R.const(R.float("-inf"), "float32"), pad_width=((0, 0), (0, 0), (1, 0), (0, 1)))
        v12 = R.nn.max_pool2d(v11, pool_size=(2, 2), strides=(2, 2))
        v13 = R.nn.pad(x, pad_width=((0, 0), (0, 0), (1, 0), (0, 1)))
        v14 = R.nn.avg_pool2d(v13, pool_size=(2, 2))
        v15 = R.nn.pad(x, R.const(0.0, "float32"), pad_width=((0, 0), (0, 0), (1, 0), (0, 1)))
        v16 = R.nn.max_pool2d(v15, pool_size=(2, 2))
        return (v1, v4, v7, v10, v12, v14, v16)

# FoldExplicitPadding: pad-into-avg-pool; pad-into-max-pool; pad-into-convolution; pad-into-convolution; pad-into-convolution; pad-into-convolution

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.nn.conv2d(x, R.constant("4c7e7a739a221d131c84029b33da78f0fba8b3db517fa1769b68cb5916130996", (2, 4, 3, 3), "float32"), padding=(2, 0, 0, 3))
        v1 = R.transpose(x, axes=(0, 2, 3, 1))
        v2 = R.nn.conv2d(v1, R.constant("238e29039c966915cdeaed4bd097dbe49e33678989928788f28b67dab93d34a3", (3, 3, 4, 2), "float32"), padding=(1, 1, 1, 2), data_layout="NHWC", kernel_layout="HWIO")
        v3 = R.reshape(x, newshape=(1, 4, 36))
        v4 = R.nn.conv1d(v3, R.constant("f015df163c0970dd14c7c5ae7e173a3b4ad5a09bea606a44bc7341d51e3c4a73", (2, 4, 3), "float32"), padding=(2, 1))
        v5 = R.reshape(x, newshape=(1, 1, 4, 6, 6))
        v6 = R.nn.conv3d(v5, R.constant("72f004f2ba966c71332d3b5ab0db0981a3525738ea2b43063a6d78ddccf4c64f", (2, 1, 2, 2, 2), "float32"), padding=(1, 0, 1, 1, 1, 0))
        v7 = R.nn.max_pool2d(x, pool_size=(2, 2), strides=(2, 2), padding=(1, 0, 0, 1))
        v8 = R.nn.avg_pool2d(x, pool_size=(2, 2), padding=(1, 0, 0, 1), count_include_pad=True)
        v9 = R.nn.pad(x, R.const(0.0, "float32"), pad_width=((0, 0), (0, 0), (1, 0), (0, 1)))
        v10 = R.nn.max_pool2d(v9, pool_size=(2, 2))
        return (v0, v2, v4, v6, v7, v8, v10)
