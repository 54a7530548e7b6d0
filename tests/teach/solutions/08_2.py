def answer(sch):
    j, i = sch.get_loops("B")
    columns, column = sch.split(j, factors=[None, 16])
    sch.reorder(columns, i, column)
    return sch
