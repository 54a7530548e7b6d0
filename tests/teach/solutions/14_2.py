def answer(sch):
    conv = sch.get_block("conv")
    copy = sch.cache_write(conv, 0, "local")
    o, y, x, v = sch.get_loops(copy)
    across, inside = sch.split(x, factors=[None, 8])
    sch.reorder(o, y, across, inside, v)
    sch.compute_at(conv, across)
    *_, tile, lane, c, i, j = sch.get_loops(conv)
    sch.reorder(c, i, j, tile, lane)
    sch.vectorize(lane)
    sch.unroll(tile)
    sch.decompose_reduction(conv, c)
    sch.vectorize(v)
    return sch
