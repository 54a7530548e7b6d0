"""Passes over the loop IR, one file a pass; `all_passes` imports them all.

`pipeline.KERNEL_PIPELINE` lists those that make a kernel, in order.
"""
