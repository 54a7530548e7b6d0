def answer(func):
    return func.params[2].shape[1].value // 8
