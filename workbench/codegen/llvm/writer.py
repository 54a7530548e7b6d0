"""Writing LLVM IR as text: a module under construction and a function under construction.

The module owns everything global (declarations, strings, debug metadata, symbol numbers); a function owns its lines,
its values' counter and its entry allocas.  Every instruction carries a debug location: the line of the statement being
emitted, in the scope of the innermost loop around it (a lexical block with the loop's line and ordinal), so that what
the optimiser merges or moves still names its loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ...core.dtype import DataType
from .types import Value, c_string, llvm_type


class ModuleWriter:
    """One LLVM module under construction."""

    def __init__(
        self,
        name: str = "workbench",
        debug: bool = True,
        cpu_features: frozenset[str] = frozenset(),
        one_core: bool = False,
    ) -> None:
        self.name = name
        self.one_core = one_core
        """Whether parallel loops are plain ones: the target has one core."""
        self.features = cpu_features
        """Features of the target, for intrinsics that need one."""
        self.debug = debug
        self.functions: list[list[str]] = []
        self.globals: list[str] = []
        self.declarations: dict[str, str] = {}
        self.defined: set[str] = set()
        """Symbols defined here, which must not be declared as well."""
        self.metadata: list[str] = []
        self._strings: dict[str, str] = {}
        self._locations: dict[tuple[int, int, int], int] = {}
        self._scopes: dict[tuple[int, int, int], int] = {}
        self._files: dict[str, int] = {}
        self._compile_unit: int | None = None
        self._empty_node: int | None = None
        self._counter = 0

    def number(self) -> int:
        """A number not given out before."""
        self._counter += 1
        return self._counter

    def declare(self, name: str, text: str) -> str:
        """Declare an external function once; returns ``@name``."""
        self.declarations.setdefault(name, text)
        return f"@{name}"

    def intrinsic(self, name: str, result: str, arguments: Sequence[str]) -> str:
        return self.declare(name, f"declare {result} @{name}({', '.join(arguments)})")

    def string(self, text: str) -> str:
        """A private constant holding `text`; returns its name."""
        if text not in self._strings:
            name = f"@.s{len(self._strings)}"
            shown, length = c_string(text)
            self.globals.append(f"{name} = private unnamed_addr constant [{length} x i8] {shown}")
            self._strings[text] = name
        return self._strings[text]

    def add_metadata(self, text: str) -> int:
        self.metadata.append(text)
        return len(self.metadata) - 1

    def empty_node(self) -> int:
        """The metadata ``!{}``."""
        if self._empty_node is None:
            self._empty_node = self.add_metadata("!{}")
        return self._empty_node

    def subprogram(self, name: str, file: str, line: int = 1) -> int | None:
        """The debug scope of a function whose source is `file` (the printed tir), where it begins at `line`."""
        if not self.debug:
            return None
        file_id = self._file(file)
        if self._compile_unit is None:
            self._compile_unit = self.add_metadata(
                f"distinct !DICompileUnit(language: DW_LANG_C99, file: !{file_id}, "
                'producer: "workbench", isOptimized: true, emissionKind: LineTablesOnly)'
            )
        type_id = self.add_metadata("!DISubroutineType(types: !{})")
        return self.add_metadata(
            f'distinct !DISubprogram(name: "{name}", file: !{file_id}, scope: !{file_id}, line: {line}, '
            f"scopeLine: {line}, type: !{type_id}, unit: !{self._compile_unit}, spFlags: DISPFlagDefinition)"
        )

    def _file(self, name: str) -> int:
        if name not in self._files:
            self._files[name] = self.add_metadata(f'!DIFile(filename: "{name}", directory: ".")')
        return self._files[name]

    def file_of(self, scope: int) -> str:
        """The file that a scope made here lies in."""
        found = re.search(r"\bfile: !(\d+)", self.metadata[scope])
        assert found is not None
        return next(name for name, number in self._files.items() if number == int(found[1]))

    def loop_scope(self, parent: int, line: int, ordinal: int) -> int:
        """The debug scope of a loop: the `ordinal`-th (from 1) of those that begin on its line."""
        key = (parent, line, ordinal)
        if key not in self._scopes:
            file_id = self._file(self.file_of(parent))
            self._scopes[key] = self.add_metadata(
                f"distinct !DILexicalBlock(scope: !{parent}, file: !{file_id}, line: {line}, column: {ordinal})"
            )
        return self._scopes[key]

    def location(self, scope: int, line: int, column: int = 0) -> int:
        """The metadata number of a debug location."""
        key = (scope, line, column)
        if key not in self._locations:
            shown = f", column: {column}" if column else ""
            self._locations[key] = self.add_metadata(f"!DILocation(line: {line}{shown}, scope: !{scope})")
        return self._locations[key]

    def text(self) -> str:
        """The whole module."""
        lines = [f"; ModuleID = '{self.name}'", *self.globals, ""]
        for function in self.functions:
            lines.extend(function)
            lines.append("")
        lines.extend(text for name, text in self.declarations.items() if name not in self.defined)
        lines.extend(f"!{number} = {text}" for number, text in enumerate(self.metadata))
        lines.extend(self._module_flags())
        return "\n".join(lines) + "\n"

    def _module_flags(self) -> list[str]:
        if self._compile_unit is None:
            return []
        first = len(self.metadata)
        return [
            f"!llvm.dbg.cu = !{{!{self._compile_unit}}}",
            f"!llvm.module.flags = !{{!{first}, !{first + 1}}}",
            f'!{first} = !{{i32 2, !"Debug Info Version", i32 3}}',
            f'!{first + 1} = !{{i32 7, !"Dwarf Version", i32 4}}',
        ]


class Line:
    """An instruction whose location may change until the function is finished."""

    __slots__ = ("line", "location", "text")

    def __init__(self, text: str, location: str, line: int) -> None:
        self.text = text
        self.location = location
        self.line = line

    def move(self, location: int, line: int) -> None:
        """Give it another location, by its number."""
        self.location, self.line = f", !dbg !{location}", line

    def __str__(self) -> str:
        return f"{self.text}{self.location}"


class FunctionWriter:
    """One LLVM function under construction; `header` is its define line without the brace."""

    def __init__(self, module: ModuleWriter, header: str, scope: int | None, returns_status: bool = True) -> None:
        self.module = module
        self.header = header
        self.scope = scope
        self.returns_status = returns_status
        self.lines: list[str | Line | list[Line]] = []
        """Instructions and labels in order; a list is a segment, which may still grow."""
        self.allocas: list[str] = []
        self.block = "entry"
        self.terminated = False
        self.place = scope
        """The innermost debug scope at this point: the function or a loop in it."""
        self.line = 1
        self.location = ""
        self._counter = 0

    # --- positions ---

    def at_line(self, line: int) -> None:
        """What is emitted from now on belongs to this line of the printed program."""
        self.line = line
        if self.place is not None:
            self.location = f", !dbg !{self.module.location(self.place, line)}"

    def at_column(self, column: int) -> None:
        """What is emitted from now on belongs to this part of the line; see `places.numbered`."""
        if self.place is not None:
            self.location = f", !dbg !{self.module.location(self.place, self.line, column)}"

    def enter_loop(self, line: int, ordinal: int) -> None:
        """What is emitted from now on belongs to a loop, up to `back_to`."""
        if self.place is not None:
            self.place = self.module.loop_scope(self.place, line, ordinal)
            self.at_line(line)

    @property
    def position(self) -> tuple[int | None, int, str]:
        """Scope, line and location now, for `back_to`."""
        return self.place, self.line, self.location

    def back_to(self, position: tuple[int | None, int, str]) -> None:
        self.place, self.line, self.location = position

    def fresh(self, prefix: str = "v") -> str:
        self._counter += 1
        return f"{prefix}{self._counter}"

    def label(self, name: str) -> None:
        """Begin the basic block `name`; control falls through to it if the last block is open."""
        if not self.terminated:
            self.jump(name)
        self.lines.append(f"{name}:")
        self.block = name
        self.terminated = False

    # --- instructions ---

    def emit(self, text: str) -> None:
        """An instruction without a result."""
        if not self.terminated:
            self.lines.append(f"  {text}{self.location}")

    def assign(self, dtype: DataType, text: str) -> Value:
        """An instruction with a result."""
        name = f"%{self.fresh()}"
        if not self.terminated:
            self.lines.append(f"  {name} = {text}{self.location}")
        return Value(name, dtype)

    def numbered(self, dtype: DataType, text: str, segment: list[Line] | None) -> tuple[Value, Line]:
        """An instruction with a result, here or at the end of a segment, and the line that holds it."""
        name = f"%{self.fresh()}"
        line = Line(f"  {name} = {text}", self.location, self.line)
        (self.lines if segment is None else segment).append(line)
        return Value(name, dtype), line

    def segment(self) -> list[Line]:
        """A place at this point where instructions can be put later; they are dropped if it is unreachable."""
        found: list[Line] = []
        if not self.terminated:
            self.lines.append(found)
        return found

    def jump(self, label: str) -> None:
        self.emit(f"br label %{label}")
        self.terminated = True

    def branch(self, condition: str, yes: str, no: str, weights: str = "") -> None:
        self.emit(f"br i1 {condition}, label %{yes}, label %{no}{weights}")
        self.terminated = True

    def ret(self, text: str) -> None:
        self.emit(f"ret {text}")
        self.terminated = True

    def alloca(self, type_text: str, align: int) -> str:
        """Stack storage, reserved once in the entry block."""
        name = f"%{self.fresh('a')}"
        self.allocas.append(f"  {name} = alloca {type_text}, align {align}{self.location}")
        return name

    def phi(self, dtype: DataType, begin: tuple[str, str]) -> tuple[Value, Callable[[tuple[str, str] | None], None]]:
        """A phi with one edge known; the second result, called once, adds the other edge, if there is one."""
        name = f"%{self.fresh()}"
        position = len(self.lines)
        self.lines.append("")
        location = self.location

        def close(back: tuple[str, str] | None) -> None:
            edges = ", ".join(f"[ {text}, %{block} ]" for text, block in (begin, *([back] if back else ())))
            self.lines[position] = f"  {name} = phi {llvm_type(dtype)} {edges}{location}"

        return Value(name, dtype), close

    def finish(self) -> None:
        """Close the function and hand it to the module."""
        attached = f" !dbg !{self.scope}" if self.scope is not None else ""
        lines = (str(line) for item in self.lines for line in (item if isinstance(item, list) else (item,)))
        self.module.functions.append([f"{self.header}{attached} {{", "entry:", *self.allocas, *lines, "}"])
