@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "float32")):
        used: R.let = R.exp(x)
        unused: R.let = R.log(x)
        cell: R.let = R.ref_create(x)
        unit: R.let = R.ref_write(cell, used)
        v0 = R.ref_read(cell)
        v1 = R.add(used, v0)
        return v1

# DeadCodeElimination: drop-unused-let at dead_code.py

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "float32")):
        used: R.let = R.exp(x)
        cell: R.let = R.ref_create(x)
        unit: R.let = R.ref_write(cell, used)
        v0 = R.ref_read(cell)
        v1 = R.add(used, v0)
        return v1
