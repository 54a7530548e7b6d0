@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 5, 5, 4), "float32")):
        v0 = R.nn.conv2d(x, R.constant("238e29039c966915cdeaed4bd097dbe49e33678989928788f28b67dab93d34a3", (3, 3, 4, 2), "float32"), channels=2, data_layout="NHWC", kernel_layout="HWIO")
        v1 = R.nn.bias_add(v0, R.const([0.037719067, -0.03963146], "float32"), axis=3)
        v2 = R.nn.conv2d(x, R.constant("c6ba11d437fcb82b4162367643f422e94541d7a685c04f0f0bdc1806abbb7d10", (3, 3, 4, 1), "float32"), channels=1, data_layout="NHWC", kernel_layout="HWIO")
        v3 = R.nn.bias_add(v2, R.const([0.037719067], "float32"), axis=3)
        return (v1, v3)

# CombineParallelConv2D-NHWC: combine

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 5, 5, 4), "float32")):
        v0 = R.concatenate((R.constant("238e29039c966915cdeaed4bd097dbe49e33678989928788f28b67dab93d34a3", (3, 3, 4, 2), "float32"), R.constant("c6ba11d437fcb82b4162367643f422e94541d7a685c04f0f0bdc1806abbb7d10", (3, 3, 4, 1), "float32")), axis=3)
        v1 = R.nn.conv2d(x, v0, channels=3, data_layout="NHWC", kernel_layout="HWIO")
        v2 = R.concatenate((R.const([0.037719067, -0.03963146], "float32"), R.const([0.037719067], "float32")))
        v3 = R.add(v1, v2)
        v4 = R.strided_slice(v3, begin=(0,), end=(2,), axes=(3,))
        v5 = R.strided_slice(v3, begin=(2,), end=(3,), axes=(3,))
        return (v4, v5)
