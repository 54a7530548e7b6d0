"""Data of targets: kinds with their options, processors with their capabilities, tags.  Data only, no code.

A processor that is not listed falls back on its architecture's baseline, which is always safe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Kind:
    """A family of targets: the memory scopes and loop kinds it has, and the options it takes."""

    name: str
    keys: tuple[str, ...]
    scopes: tuple[str, ...]
    options: tuple[str, ...]
    threads: tuple[str, ...] = ()
    device_type: int = 1


@dataclass(frozen=True)
class Processor:
    """What kernels need to know of a processor.  Cache sizes in bytes, per core for L1 and L2, shared for L3."""

    architecture: str
    lanes: int
    """float32 elements in one vector register."""
    vector_registers: int
    caches: tuple[int, ...]
    features: tuple[str, ...] = ()


COMMON_OPTIONS: Final = ("keys", "libs", "device", "model", "host", "tag")
CPU_OPTIONS: Final = (
    "mcpu", "mtriple", "mattr", "mabi", "mfloat-abi", "num-cores", "vector-width", "opt-level",
    "l1-cache", "l2-cache", "l3-cache",
)  # fmt: skip
GPU_OPTIONS: Final = (
    "arch", "max_num_threads", "thread_warp_size", "max_shared_memory_per_block", "max_threads_per_block",
    "registers_per_block", "mcpu", "mtriple", "from_device",
)  # fmt: skip
OPTION_ORDER: Final = (*CPU_OPTIONS, *GPU_OPTIONS, *COMMON_OPTIONS)
INTEGER_OPTIONS: Final = (
    "num-cores", "vector-width", "opt-level", "l1-cache", "l2-cache", "l3-cache", "max_num_threads",
    "thread_warp_size", "max_shared_memory_per_block", "max_threads_per_block", "registers_per_block", "from_device",
)  # fmt: skip
LIST_OPTIONS: Final = ("mattr", "keys", "libs")

_CPU_SCOPES: Final = ("global", "local")
_GPU_SCOPES: Final = ("global", "shared", "local", "warp")
_GPU_THREADS: Final = (
    "blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z", "vthread",
    "vthread.x", "vthread.y", "vthread.z",
)  # fmt: skip


def _gpu(name: str, device_type: int, extra_keys: tuple[str, ...] = ("gpu",)) -> Kind:
    return Kind(name, (name, *extra_keys), _GPU_SCOPES, GPU_OPTIONS, _GPU_THREADS, device_type)


KINDS: Final[dict[str, Kind]] = {
    kind.name: kind
    for kind in (
        Kind("llvm", ("cpu",), _CPU_SCOPES, CPU_OPTIONS),
        Kind("c", ("cpu",), _CPU_SCOPES, CPU_OPTIONS),
        Kind("webassembly", ("cpu",), _CPU_SCOPES, CPU_OPTIONS),
        _gpu("cuda", 2),
        _gpu("nvptx", 2, ("cuda", "gpu")),
        _gpu("opencl", 4),
        _gpu("vulkan", 7),
        _gpu("metal", 8),
        _gpu("rocm", 10),
        _gpu("webgpu", 15),
    )
}

_KIB, _MIB = 1024, 1024 * 1024
_AVX512 = ("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx2", "fma")
_AVX2 = ("avx2", "fma")
_CASCADE = (*_AVX512, "avx512vnni")
_ICELAKE = (
    *_CASCADE,
    *("avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq", "gfni", "vpclmulqdq"),
)
_ZEN4 = (*_ICELAKE, "avx512bf16")

PROCESSORS: Final[dict[str, Processor]] = {
    "znver5": Processor("x86_64", 16, 32, (48 * _KIB, _MIB, 32 * _MIB), (*_ZEN4, "avxvnni")),
    "znver4": Processor("x86_64", 16, 32, (32 * _KIB, _MIB, 32 * _MIB), _ZEN4),
    "znver3": Processor("x86_64", 8, 16, (32 * _KIB, 512 * _KIB, 32 * _MIB), _AVX2),
    "znver2": Processor("x86_64", 8, 16, (32 * _KIB, 512 * _KIB, 16 * _MIB), _AVX2),
    "haswell": Processor("x86_64", 8, 16, (32 * _KIB, 256 * _KIB, 8 * _MIB), _AVX2),
    "broadwell": Processor("x86_64", 8, 16, (32 * _KIB, 256 * _KIB, 8 * _MIB), _AVX2),
    "skylake": Processor("x86_64", 8, 16, (32 * _KIB, 256 * _KIB, 8 * _MIB), _AVX2),
    "skylake-avx512": Processor("x86_64", 16, 32, (32 * _KIB, _MIB, 16 * _MIB), _AVX512),
    "cascadelake": Processor("x86_64", 16, 32, (32 * _KIB, _MIB, 16 * _MIB), _CASCADE),
    "icelake-server": Processor("x86_64", 16, 32, (48 * _KIB, 1280 * _KIB, 32 * _MIB), _ICELAKE),
    "sapphirerapids": Processor("x86_64", 16, 32, (48 * _KIB, 2 * _MIB, 32 * _MIB), (*_ZEN4, "avxvnni", "avx512fp16")),
    "alderlake": Processor(
        "x86_64", 8, 16, (48 * _KIB, 1280 * _KIB, 24 * _MIB), (*_AVX2, "avxvnni", "gfni", "vpclmulqdq")
    ),
    "core-avx2": Processor("x86_64", 8, 16, (32 * _KIB, 256 * _KIB, 8 * _MIB), _AVX2),
    "x86-64": Processor("x86_64", 4, 16, (32 * _KIB, 256 * _KIB, 4 * _MIB)),
    "x86-64-v2": Processor("x86_64", 4, 16, (32 * _KIB, 256 * _KIB, 4 * _MIB)),
    "x86-64-v3": Processor("x86_64", 8, 16, (32 * _KIB, 256 * _KIB, 8 * _MIB), _AVX2),
    "x86-64-v4": Processor("x86_64", 16, 32, (32 * _KIB, _MIB, 16 * _MIB), _AVX512),
    "apple-m1": Processor("aarch64", 4, 32, (128 * _KIB, 12 * _MIB)),
    "apple-m2": Processor("aarch64", 4, 32, (128 * _KIB, 16 * _MIB)),
    "apple-m3": Processor("aarch64", 4, 32, (128 * _KIB, 16 * _MIB)),
    "apple-m4": Processor("aarch64", 4, 32, (128 * _KIB, 16 * _MIB)),
    "cortex-a53": Processor("aarch64", 4, 32, (32 * _KIB, 512 * _KIB)),
    "cortex-a72": Processor("aarch64", 4, 32, (32 * _KIB, _MIB)),
    "cortex-a76": Processor("aarch64", 4, 32, (64 * _KIB, 512 * _KIB, 2 * _MIB)),
    "neoverse-n1": Processor("aarch64", 4, 32, (64 * _KIB, _MIB, 32 * _MIB)),
    "neoverse-v1": Processor("aarch64", 4, 32, (64 * _KIB, _MIB, 32 * _MIB)),
    "neoverse-v2": Processor("aarch64", 4, 32, (64 * _KIB, 2 * _MIB, 64 * _MIB)),
}

BASELINES: Final[dict[str, Processor]] = {
    "x86_64": PROCESSORS["x86-64"],
    "aarch64": Processor("aarch64", 4, 32, (32 * _KIB, 512 * _KIB)),
    "riscv64": Processor("riscv64", 4, 32, (32 * _KIB, 512 * _KIB)),
    "wasm32": Processor("wasm32", 4, 16, (32 * _KIB, 256 * _KIB)),
}
"""By the architecture part of the triple, when the processor is not listed."""

ARCHITECTURE_ALIASES: Final = {"amd64": "x86_64", "arm64": "aarch64", "wasm": "wasm32"}

TAGS: Final[dict[str, str]] = {
    "llvm/host": "llvm",
    "llvm/avx2": "llvm -mcpu=x86-64-v3",
    "llvm/avx512": "llvm -mcpu=x86-64-v4",
    "raspberry-pi/4b-aarch64": "llvm -mcpu=cortex-a72 -mtriple=aarch64-linux-gnu -num-cores=4",
    "raspberry-pi/5": "llvm -mcpu=cortex-a76 -mtriple=aarch64-linux-gnu -num-cores=4",
    "apple/m1": "llvm -mcpu=apple-m1 -mtriple=arm64-apple-macos -num-cores=4",
    "aws/graviton3": "llvm -mcpu=neoverse-v1 -mtriple=aarch64-linux-gnu",
    "riscv64": "llvm -mtriple=riscv64-linux-gnu -mattr=+m,+a,+f,+d,+c -mabi=lp64d",
    "wasm": "llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128",
    "nvidia/nvidia-h100": "cuda -arch=sm_90 -max_num_threads=1024 -thread_warp_size=32",
    "nvidia/nvidia-a100": "cuda -arch=sm_80 -max_num_threads=1024 -thread_warp_size=32",
}
