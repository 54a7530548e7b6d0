"""What the operating system itself refuses a process from now on: the rest of the disk, other processes, the network.

Linux only, by Landlock (files) and seccomp (system calls), both without privileges; elsewhere, and where the kernel
lacks one of them, the answer says so.  It cannot be taken back, it holds for all that the process starts later, and it
holds against whatever Python allows: `dir_fd`, private modules, native code.

    confined(Path.cwd(), reading=[sys.prefix])      # {"files", "calls"}: what is in force

Sources: the kernel's documentation (userspace-api/landlock, userspace-api/seccomp_filter), uapi headers for numbers.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH, _VERSION = 1, 1
_READS: Final = 1 << 2 | 1 << 3
"""Landlock's rights to read files and folders."""
_WRITES: Final[tuple[int, ...]] = (0x1FF2, 0x1FF2, 0x3FF2, 0x7FF2)
"""Its rights to write, make and remove, by version of the interface; the last holds for later ones."""
_SCOPES: Final = 0b11
"""Abstract sockets and signals stay among those that are confined alike (from version 6 on)."""
_SYSTEM: Final = ("/usr", "/lib", "/lib64", "/etc", "/dev", "/proc", "/sys", "/opt", "/nix/store")
"""Where programs and their libraries lie; no person's files do."""

_NUMBERS: Final[dict[str, tuple[int, dict[str, int]]]] = {
    "x86_64": (0xC000003E, {
        "kill": 62, "tgkill": 234, "prlimit64": 302, "clone": 56, "clone3": 435,
        "tkill": 200, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "pidfd_open": 434, "pidfd_send_signal": 424,
        "pidfd_getfd": 438, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "execve": 59,
        "execveat": 322, "fork": 57, "vfork": 58, "socket": 41, "io_uring_setup": 425, "chmod": 90, "fchmod": 91,
        "fchmodat": 268, "fchmodat2": 452, "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260, "utime": 132,
        "utimes": 235, "futimesat": 261, "utimensat": 280, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190,
        "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, "mount": 165, "umount2": 166, "pivot_root": 155,
        "chroot": 161, "unshare": 272, "setns": 308, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323,
        "keyctl": 250, "add_key": 248, "reboot": 169, "init_module": 175, "finit_module": 313, "kexec_load": 246,
        "setpriority": 141, "sched_setaffinity": 203, "sched_setscheduler": 144,
    }),
    "aarch64": (0xC00000B7, {
        "kill": 129, "tgkill": 131, "prlimit64": 261, "clone": 220, "clone3": 435,
        "tkill": 130, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240, "pidfd_open": 434, "pidfd_send_signal": 424,
        "pidfd_getfd": 438, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "execve": 221,
        "execveat": 281, "socket": 198, "io_uring_setup": 425, "fchmod": 52, "fchmodat": 53, "fchmodat2": 452,
        "fchownat": 54, "fchown": 55, "utimensat": 88, "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7,
        "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16, "mount": 40, "umount2": 39, "pivot_root": 41,
        "chroot": 51, "unshare": 97, "setns": 268, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282,
        "keyctl": 219, "add_key": 217, "reboot": 142, "init_module": 105, "finit_module": 273, "kexec_load": 104,
        "setpriority": 140, "sched_setaffinity": 122, "sched_setscheduler": 119,
    }),
}  # fmt: skip
"""By machine: what seccomp calls its architecture, and system calls by name.  The first five depend on arguments."""


def confined(folder: Path, reading: Iterable[str | Path] = ()) -> frozenset[str]:
    """Write below `folder` only, read there, in the system's folders and in `reading`; start and reach no process.

    The answer holds "files" and "calls" where the system sees to them.  Threads may still be started, and a process
    may signal itself.
    """
    if sys.platform != "linux":
        return frozenset()
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    if library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return frozenset()
    done = {"files": _files(library, folder, reading), "calls": _calls(library)}  # in this order: the second ends it
    return frozenset(name for name, held in done.items() if held)


# --- files ------------------------------------------------------------------------------------------------------------


def _files(library: Any, folder: Path, reading: Iterable[str | Path]) -> bool:
    version = int(library.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION)))
    if version < 1:
        return False
    writes = _WRITES[min(version, len(_WRITES)) - 1]
    attributes = struct.pack("QQQ", _READS | writes, 0, _SCOPES if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = library.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0))
    if rules < 0:
        return False
    try:
        _allow(library, rules, folder, _READS | writes)
        _allow(library, rules, os.devnull, 1 << 1 | 1 << 2)
        for place in dict.fromkeys(map(str, (*_SYSTEM, *reading))):
            _allow(library, rules, place, _READS)
        return library.syscall(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0)) == 0
    finally:
        os.close(rules)


def _allow(library: Any, rules: int, place: str | Path, rights: int) -> None:
    try:
        opened = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no right
    try:
        if not os.path.isdir(place):
            rights &= 1 << 1 | 1 << 2 | 1 << 14  # a file takes no rights of folders
        rule = struct.pack("=Qi", rights, opened)
        arguments = (ctypes.c_int(rules), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
        library.syscall(_ADD_RULE, *arguments)
    finally:
        os.close(opened)


# --- system calls -----------------------------------------------------------------------------------------------------

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NUMBER_AT, _MACHINE_AT, _FIRST_ARGUMENT = 0, 4, 16
_THREAD: Final = 0x10000
"""clone's flag for a thread of the same process."""
_FOREIGN: Final = 0x40000000
"""From here on are numbers of x86's other calling convention, which this table does not speak of."""


def _calls(library: Any) -> bool:
    known = _NUMBERS.get(platform.machine())
    if known is None:
        return False
    program = b"".join(struct.pack("HBBI", *step) for step in _program(*known, os.getpid()))
    held = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(held))
    return library.prctl(_SET_SECCOMP, _FILTER, described, 0, 0) == 0


def _program(machine: int, numbers: dict[str, int], own: int) -> Sequence[tuple[int, int, int, int]]:
    """The filter as (code, jump if so, jump if not, value): system calls that reach beyond this process fail."""
    refuse = (_RETURN, 0, 0, _ERROR | errno.EPERM)
    allow = (_RETURN, 0, 0, _ALLOW)
    argument = (_LOAD, 0, 0, _FIRST_ARGUMENT)
    steps = [
        (_LOAD, 0, 0, _MACHINE_AT), (_EQUAL, 1, 0, machine), refuse,
        (_LOAD, 0, 0, _NUMBER_AT), (_AT_LEAST, 0, 1, _FOREIGN), refuse,
    ]  # fmt: skip
    for name, number in numbers.items():
        if name in ("kill", "tgkill"):
            then = [argument, (_EQUAL, 0, 1, own), allow, refuse]
        elif name == "prlimit64":
            then = [argument, (_EQUAL, 1, 0, own), (_EQUAL, 0, 1, 0), allow, refuse]
        elif name == "clone":
            then = [argument, (_ANY_BIT, 0, 1, _THREAD), allow, refuse]
        elif name == "clone3":  # its flags lie in memory, where a filter does not look; libraries fall back to clone
            then = [(_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
        else:
            then = [refuse]
        steps += [(_EQUAL, 0, len(then), number), *then]
    return [*steps, allow]
