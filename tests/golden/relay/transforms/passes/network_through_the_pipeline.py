@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 3, 8, 8), "float32")):
        @R.function(attrs={"Primitive": 1})
        def fused_conv2d_add_relu(p0: R.Tensor((1, 3, 8, 8), "float32"), p1: R.Tensor((2, 3, 3, 3, 4), "float32"), p2: R.Tensor((8, 1, 1), "float32")) -> R.Tensor((1, 8, 8, 8), "float32"):
            v0 = R.nn.conv2d(p0, p1, padding=(1, 1, 1, 1), channels=8, kernel_layout="OIHW4o")
            v1 = R.add(v0, p2)
            v2 = R.nn.relu(v1)
            return v2
        v0 = fused_conv2d_add_relu(x, R.constant("b014c91f12f0e63346e323ec4925b42ef6c4dc8bae8980c00abffb7e49760e3d", (2, 3, 3, 3, 4), "float32"), R.const([[[0.0018797517]], [[-0.42827353]], [[0.51094866]], [[0.21709692]], [[-0.44703546]], [[0.000757145]], [[-0.3170023]], [[0.025444634]]], "float32"))
        @R.function(attrs={"Primitive": 1})
        def fused_conv2d_add_relu_add_more(p0: R.Tensor((1, 8, 8, 8), "float32"), p1: R.Tensor((2, 8, 3, 3, 4), "float32"), p2: R.Tensor((8, 1, 1), "float32")) -> R.Tensor((1, 8, 8, 8), "float32"):
            v0 = R.nn.conv2d(p0, p1, padding=(1, 1, 1, 1), channels=8, kernel_layout="OIHW4o")
            v1 = R.add(v0, p2)
            v2 = R.nn.relu(v1)
            v3 = R.add(v2, p0)
            v4 = R.nn.relu(v3)
            return v4
        v1 = fused_conv2d_add_relu_add_more(v0, R.constant("729ca808a8a289e3a5405f354303f8b0c5b9090bb23ce72e9077979f37c92f6f", (2, 8, 3, 3, 4), "float32"), R.const([[[0.540663]], [[-0.58145946]], [[-0.5120094]], [[-0.87361264]], [[-0.1687826]], [[0.34409714]], [[0.29610494]], [[0.15048386]]], "float32"))
        @R.function(attrs={"Primitive": 1})
        def fused_max_pool2d(p0: R.Tensor((1, 8, 8, 8), "float32")) -> R.Tensor((1, 8, 8, 8), "float32"):
            v0 = R.nn.max_pool2d(p0, pool_size=(3, 3), padding=(1, 1, 1, 1))
            return v0
        v2 = fused_max_pool2d(v1)
        @R.function(attrs={"Primitive": 1})
        def fused_concatenate(p0: R.Tensor((1, 8, 8, 8), "float32"), p1: R.Tensor((1, 8, 8, 8), "float32")) -> R.Tensor((1, 16, 8, 8), "float32"):
            v0 = R.concatenate((p0, p1), axis=1)
            return v0
        v3 = fused_concatenate(v1, v2)
        @R.function(attrs={"Primitive": 1})
        def fused_global_avg_pool2d(p0: R.Tensor((1, 16, 8, 8), "float32")) -> R.Tensor((1, 16, 1, 1), "float32"):
            v0 = R.nn.global_avg_pool2d(p0)
            return v0
        v4 = fused_global_avg_pool2d(v3)
        @R.function(attrs={"Primitive": 1})
        def fused_batch_flatten(p0: R.Tensor((1, 16, 1, 1), "float32")) -> R.Tensor((1, 16), "float32"):
            v0 = R.nn.batch_flatten(p0)
            return v0
        v5 = fused_batch_flatten(v4)
        @R.function(attrs={"Primitive": 1})
        def fused_contrib_dense_pack(p0: R.Tensor((1, 16), "float32"), p1: R.Tensor((3, 16, 4), "float32")) -> R.Tensor((1, 10), "float32"):
            v0 = R.nn.contrib_dense_pack(p0, p1, weight_layout="NC4n", units=10)
            return v0
        v6 = fused_contrib_dense_pack(v5, R.constant("15aab72e75d485f0c71b960cba5d864981e58f50134c5c14d31613e8da2db274", (3, 16, 4), "float32"))
        @R.function(attrs={"Primitive": 1})
        def fused_softmax(p0: R.Tensor((1, 10), "float32")) -> R.Tensor((1, 10), "float32"):
            v0 = R.nn.softmax(p0)
            return v0
        v7 = fused_softmax(v6)
        return v7
