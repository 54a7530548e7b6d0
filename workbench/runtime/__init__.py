"""What compiled code runs on: modules, packed functions, arrays, devices, executors, the thread pool.

Over the open tvm-ffi calling convention; everything of it is imported at first use.
"""

from .device import Device, cpu, cuda, device, gpu
from .model import CompiledModel, KernelCall, TensorSpec
from .module import CodeUnit, Module, load_module
from .ndarray import NDArray
from .packed import PackedFunc, convert_function, get_global_func, register_func
from .threads import num_threads, set_num_threads
from .timing import BenchmarkResult

__all__ = [
    "BenchmarkResult",
    "CodeUnit",
    "CompiledModel",
    "Device",
    "KernelCall",
    "Module",
    "NDArray",
    "PackedFunc",
    "TensorSpec",
    "convert_function",
    "cpu",
    "cuda",
    "device",
    "get_global_func",
    "gpu",
    "load_module",
    "num_threads",
    "register_func",
    "set_num_threads",
]
