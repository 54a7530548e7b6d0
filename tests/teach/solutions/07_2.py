def answer(sch):
    (i,) = sch.get_loops("B")
    a, b = sch.func.params
    distance = b.shape[0].value - a.shape[0].value
    _, lanes = sch.split(i, factors=[None, distance])
    sch.vectorize(lanes)
    return sch
