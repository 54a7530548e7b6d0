def answer(func):
    n = func.params[0].shape[0].value
    return -n % 8
