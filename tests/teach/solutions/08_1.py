def answer(sch):
    j, i = sch.get_loops("B")
    sch.reorder(i, j)
    return sch
