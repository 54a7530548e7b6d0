def answer(func):
    n = func.params[0].shape[0].value
    distance = func.params[1].shape[0].value - n
    return [0, distance]
