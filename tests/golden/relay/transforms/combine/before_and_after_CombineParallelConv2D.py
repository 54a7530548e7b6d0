@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.nn.conv2d(x, R.const([[[[0.056716014]], [[-0.15682453]], [[-0.12391906]], [[-0.73244023]]], [[[0.5399122]], [[0.34324977]], [[-0.09762685]], [[0.23214197]]]], "float32"))
        v1 = R.add(v0, R.const([[[0.037719067]], [[-0.03963146]]], "float32"))
        v2 = R.nn.relu(v1)
        v3 = R.tanh(v2)
        v4 = R.nn.conv2d(x, R.constant("197da2744e56fbed97bb86ec762f5185aa49e4f9b40c1ac2fd083bea1b05748b", (3, 4, 1, 1), "float32"))
        v5 = R.add(v4, R.const([[[0.037719067]], [[-0.03963146]], [[0.1921268]]], "float32"))
        v6 = R.nn.relu(v5)
        v7 = R.nn.conv2d(v6, R.constant("c5034ef06989c0bc592c357f249be173cec995310580cff6e203bdc3e8485e0f", (4, 3, 3, 3), "float32"), padding=(1, 1, 1, 1))
        v8 = R.nn.conv2d(x, R.constant("423a9b43cbf2d1f3476564d86c9a2d221e588bdfe4643fa6e34d8bd78627cb78", (5, 4, 1, 1), "float32"))
        v9 = R.add(v8, R.const([[[0.037719067]], [[-0.03963146]], [[0.1921268]], [[0.031470034]], [[-0.16070081]]], "float32"))
        v10 = R.nn.relu(v9)
        v11 = R.exp(v10)
        v12 = R.nn.conv2d(x, R.constant("4c7e7a739a221d131c84029b33da78f0fba8b3db517fa1769b68cb5916130996", (2, 4, 3, 3), "float32"), padding=(1, 1, 1, 1))
        v13 = R.concatenate((v3, v7, v11, v12), axis=1)
        return v13

# CombineParallelConv2D: combine

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 6, 6), "float32")):
        v0 = R.concatenate((R.const([[[[0.056716014]], [[-0.15682453]], [[-0.12391906]], [[-0.73244023]]], [[[0.5399122]], [[0.34324977]], [[-0.09762685]], [[0.23214197]]]], "float32"), R.constant("197da2744e56fbed97bb86ec762f5185aa49e4f9b40c1ac2fd083bea1b05748b", (3, 4, 1, 1), "float32"), R.constant("423a9b43cbf2d1f3476564d86c9a2d221e588bdfe4643fa6e34d8bd78627cb78", (5, 4, 1, 1), "float32")))
        v1 = R.nn.conv2d(x, v0, channels=10)
        v2 = R.concatenate((R.const([[[0.037719067]], [[-0.03963146]]], "float32"), R.const([[[0.037719067]], [[-0.03963146]], [[0.1921268]]], "float32"), R.const([[[0.037719067]], [[-0.03963146]], [[0.1921268]], [[0.031470034]], [[-0.16070081]]], "float32")))
        v3 = R.add(v1, v2)
        v4 = R.nn.relu(v3)
        v5 = R.strided_slice(v4, begin=(0,), end=(2,), axes=(1,))
        v6 = R.tanh(v5)
        v7 = R.strided_slice(v4, begin=(2,), end=(5,), axes=(1,))
        v8 = R.nn.conv2d(v7, R.constant("c5034ef06989c0bc592c357f249be173cec995310580cff6e203bdc3e8485e0f", (4, 3, 3, 3), "float32"), padding=(1, 1, 1, 1))
        v9 = R.strided_slice(v4, begin=(5,), end=(10,), axes=(1,))
        v10 = R.exp(v9)
        v11 = R.nn.conv2d(x, R.constant("4c7e7a739a221d131c84029b33da78f0fba8b3db517fa1769b68cb5916130996", (2, 4, 3, 3), "float32"), padding=(1, 1, 1, 1))
        v12 = R.concatenate((v6, v8, v10, v11), axis=1)
        return v12
