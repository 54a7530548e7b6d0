def answer(sch):
    back = sch.cache_write("C", 0, "local")
    y, x = sch.get_loops(back)
    y, y_in = sch.split(y, factors=[None, 4])
    x, x_in = sch.split(x, factors=[None, 16])
    sch.reorder(x, y, y_in, x_in)
    sch.compute_at("C", y, preserve_unit_loops=True)
    y_in, x_in, r = sch.get_loops("C")[-3:]
    wide, eight = sch.split(x_in, factors=[None, 8])
    sch.reorder(r, y_in, wide, eight)
    sch.decompose_reduction("C", r)
    sch.unroll(y_in)
    sch.unroll(wide)
    sch.vectorize(eight)
    return sch
