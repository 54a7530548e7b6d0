def answer(func):
    x = func["main"].params[0].type_annotation.shape
    return 2 * 2 * 4 * int(x[1]) * int(x[2]) * int(x[3])
