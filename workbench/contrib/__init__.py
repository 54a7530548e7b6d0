"""Classic names of `workbench.contrib`."""
