"""The schedule primitives, one file each; `all_primitives` imports them, which fills the table.

split      for i in range(n): S(i)   ->   for io, ii in grid(ceil(n / f), f): S(io * f + ii)
"""
