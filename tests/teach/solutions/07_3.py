import workbench as wb


def answer(func):
    steps = ("parallel i", "parallel j", "reorder j, i")
    found = []
    for step in steps:
        sch = wb.schedule.Schedule(func)
        i, j = sch.get_loops("Y")
        name, _, rest = step.partition(" ")
        if sch.why_not(name, *[{"i": i, "j": j}[loop] for loop in rest.split(", ")]) is None:
            found.append(step)
    return found
