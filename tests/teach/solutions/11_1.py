def answer(func):
    registers, vectors = func.params[2].shape[1].value, func.params[2].shape[0].value // 8
    rows = 0
    while (rows + 1) * vectors + vectors + 1 <= registers:
        rows += 1
    return rows
