def answer(sch):
    _, k = sch.get_loops("B")
    part, _ = sch.split(k, factors=[8, None])
    partial = sch.rfactor(part, 0)
    sch.parallel(sch.get_loops(partial)[1])
    return sch
