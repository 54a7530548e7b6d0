def answer(sch):
    _, _, k = sch.get_loops("C")
    _, lane = sch.split(k, factors=[None, 8])
    part = sch.rfactor(lane, 2)
    sch.vectorize(sch.get_loops(part)[-1])
    return sch
