"""From fused relay functions to kernels and one native entry.

`lower_module` turns a fused relay module into loop IR (one unscheduled kernel for each distinct fused function and
the entry that calls them); `schedule_kernels` asks a provider for the schedule of each kernel.
"""

from .entry import Lowered, lower_module
from .kernel import Kernel
from .provider import Provider, schedule_kernels

__all__ = ["Kernel", "Lowered", "Provider", "lower_module", "schedule_kernels"]
