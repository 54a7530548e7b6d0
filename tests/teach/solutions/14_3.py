def answer(func):
    channels, size = func.params[0].shape[0].value, func.params[2].shape[1].value
    filters = 8 * func.params[1].shape[0].value
    return ((size + 3) // 4) ** 2 * 36 * channels * filters
