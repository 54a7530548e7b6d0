@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "float32")):
        v0 = R.exp(x)
        if R.const(True, "bool"):
            v1 = R.tanh(v0)
            v2 = v1
        else:
            v2 = v0
        v3 = R.add(v2, v0)
        return v3

# ToANormalForm: bind at canonical_form.py; bind at canonical_form.py; bind at canonical_form.py; bind at canonical_form.py

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "float32")):
        v0: R.let = R.exp(x)
        if R.const(True, "bool"):
            v1: R.let = R.tanh(v0)
            v4 = v1
        else:
            v4 = v0
        v2: R.let = v4
        v3: R.let = R.add(v2, v0)
        return v3
