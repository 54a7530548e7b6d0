def answer(sch):
    n, o, k = sch.get_loops("Y")
    outer, inner = sch.split(o, factors=[None, 16])
    far, near = sch.split(k, factors=[None, 4])
    sch.reorder(n, outer, far, inner, near)
    sch.tensorize(inner, "dot_16x4_plain")
    return sch
