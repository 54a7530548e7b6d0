def answer(func):
    n = func.params[0].shape[0].value
    return min((n // f + f, f) for f in range(1, n + 1) if n % f == 0)[1]
