"""Schedules of kernels, written with the primitives only: one module for each shape of loops, no search.

    conv.packed(schedule, "conv2d", machine, blocks=2, columns=7, depthwise=False)
    generic.blockwise(schedule, machine)
    print(schedule.code())             # the steps that a person could have clicked

Which of them a kernel gets, and with which tile, is the affair of `lower.implementations`.
"""
