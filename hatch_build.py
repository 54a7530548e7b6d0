"""The build hook: wheels and editable installs carry the native thread pool, wheels the course as well.

Without a C compiler and without ziglang the build goes on and says so: the runtime then runs serially.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativePoolHook(BuildHookInterface[Any]):
    """Compiles the native runtime's C files and marks a wheel that carries the result as platform-specific."""

    def dependencies(self) -> list[str]:
        """ziglang stands in for a missing C compiler; nothing is fetched where there is one."""
        return [] if _native_build(Path(self.root)).find_compiler() else ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        notebooks = Path(self.root) / "notebooks"
        if version == "standard" and notebooks.is_dir():
            # `workbench lab` copies the course from here where there is no clone.
            build_data["force_include"][str(notebooks)] = "workbench/notebooks"
        native = _native_build(Path(self.root))
        library = native.compile_pool(report=self.app.display_warning)
        if library is None:
            return
        build_data["artifacts"].append(f"/{library.relative_to(self.root).as_posix()}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform_tag()}"


def _native_build(root: Path) -> ModuleType:
    """`workbench/runtime/native/build.py`, loaded from its file: the package itself is not installed yet."""
    path = root / "workbench" / "runtime" / "native" / "build.py"
    specification = importlib.util.spec_from_file_location("_workbench_native_build", path)
    if specification is None or specification.loader is None:
        raise FileNotFoundError(f"the build hook needs {path}")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def _platform_tag() -> str:
    """The plain tag of this machine ("linux_x86_64"): a manylinux tag is for auditwheel to grant."""
    from packaging.tags import platform_tags

    tags = list(platform_tags())
    plain = [tag for tag in tags if not tag.startswith(("manylinux", "musllinux"))]
    return (plain or tags)[0]
