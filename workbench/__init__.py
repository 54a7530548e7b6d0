"""The compiler workbench: a machine-learning compiler that one can see and touch."""

__version__ = "0.1.0.dev0"
