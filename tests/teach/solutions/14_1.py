def answer(func):
    blocks, size = func.params[1].shape[0].value, func.params[2].shape[1].value
    found = [1000 * (b + x) / (b * x) for b in range(1, blocks + 1) for x in range(1, size + 1)
             if blocks % b == 0 and size % x == 0 and b * x + b < 16]
    return round(min(found))
