def answer(sch):
    _, k = sch.get_loops("B")
    _, lane = sch.split(k, factors=[None, 8])
    partial = sch.rfactor(lane, 0)
    sch.vectorize(sch.get_loops(partial)[2])
    return sch
