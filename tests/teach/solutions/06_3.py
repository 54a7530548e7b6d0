def answer(sch):
    i, j, k = sch.get_loops("C")
    outer, lanes = sch.split(j, factors=[None, 8])
    sch.reorder(i, outer, k, lanes)
    sch.vectorize(lanes)
    return sch
