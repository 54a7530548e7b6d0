def answer(sch):
    i, j, k = sch.get_loops("C")
    rows, row = sch.split(i, factors=[None, 8])
    columns, column = sch.split(j, factors=[None, 16])
    sch.reorder(rows, columns, k, row, column)
    return sch
