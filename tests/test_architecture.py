"""The shape of the house, kept true: layers, sizes, one place for each heavy package, the map."""

from __future__ import annotations

import ast
import graphlib
import importlib
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "workbench"

# A module may import its own layer and every layer in an earlier row.  Layers of one row are of one rank:
# they may not import each other.  The longest prefix decides which layer a module belongs to.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("core",),
    ("arith", "target"),
    ("runtime",),
    ("relay.ir", "tir"),
    ("te",),
    ("topi",),
    ("relay", "analysis"),
    ("tir.transforms",),
    ("schedule",),
    ("lower",),
    ("codegen",),
    ("frontend",),
    ("tune",),
    ("autotvm", "auto_scheduler"),
    ("driver",),
    ("views",),
    ("ui", "teach"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

# Modules that only give the classic API's names to what lies elsewhere: they may import anything, and no
# layer may import them.
FACADES = {"contrib", "ir", "nd", "script", "testing", "transform"}

# Names that point upward on purpose stand in these files, as strings that are loaded on first use.
LAZY_TABLES = {"workbench/__init__.py", "workbench/_lazy.py", "workbench/te/__init__.py", "workbench/tir/__init__.py"}

# A heavy package is imported below one folder (or in one file) only.
HEAVY = {
    "islpy": "workbench/analysis/dependence.py",
    "llvmlite": "workbench/codegen/llvm/",
    "onnx": "workbench/frontend/onnx/",
    "tvm_ffi": "workbench/runtime/",
    "torch": "workbench/frontend/torch/",
    "tensorflow": "workbench/frontend/tensorflow/",
    "anywidget": "workbench/ui/",
    "ipywidgets": "workbench/ui/",
}

LINE_LIMIT = 500
# Files that are tables and may be longer; each with the reason.
DATA_TABLES: dict[str, str] = {}

IMPORT_LIMIT_SECONDS = 0.3
NOT_AT_IMPORT = (*HEAVY, "IPython")


@cache
def python_files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def layer_of(module: str) -> str | None:
    """The layer of a dotted name below `workbench`, by its longest known prefix; None if it has none."""
    parts = module.split(".")[1:]
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        if name in RANK:
            return name
    return None


def is_facade(module: str) -> bool:
    parts = module.split(".")
    return parts[0] == "workbench" and len(parts) > 1 and parts[1] in FACADES


def module_name(path: Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def parsed(text: str) -> ast.Module:
    """Files are parsed once for all tests of this module."""
    return ast.parse(text)


@cache
def imports_in(tree: ast.Module) -> tuple[ast.Import | ast.ImportFrom, ...]:
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def imported_modules(path: Path) -> Iterator[tuple[int, str]]:
    """Every (line, absolute module) that a file imports, anywhere in it, `from x import y` as x.y and x."""
    tree = parsed(path.read_text(encoding="utf-8"))
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    for node in imports_in(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                anchor = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*anchor, base] if base else anchor)
            for alias in node.names:
                yield node.lineno, resolve(base, alias.name)


@cache
def resolve(base: str, name: str) -> str:
    """`from base import name`: the submodule if there is one, else the module itself."""
    folder = ROOT.joinpath(*base.split(".")) if base.split(".")[0] == "workbench" else None
    if folder is not None and ((folder / f"{name}.py").exists() or (folder / name).is_dir()):
        return f"{base}.{name}"
    return base


def layer_violations() -> list[str]:
    wrong = []
    for path in python_files():
        if relative(path) in LAZY_TABLES:
            continue
        own = layer_of(module_name(path))
        for line, module in imported_modules(path):
            if own is not None and is_facade(module):
                wrong.append(f"{relative(path)}:{line}: {own} imports the classic name {module}")
            other = layer_of(module) if module.split(".")[0] == "workbench" else None
            if other is None or other == own or own is None:
                continue
            if RANK[other] >= RANK[own]:
                wrong.append(f"{relative(path)}:{line}: {own} imports {other} ({module})")
    return wrong


def test_imports_only_point_down() -> None:
    assert layer_violations() == []


MOST_LATE_IMPORTS = 54
"""Relative imports inside functions; this number only goes down."""


def late_imports(path: Path) -> Iterator[int]:
    """The lines of relative imports inside functions."""
    tree = parsed(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = (node for function in functions for node in ast.walk(function))
    yield from sorted({node.lineno for node in inside if isinstance(node, ast.ImportFrom) and node.level})


def test_imports_stand_at_the_top() -> None:
    paths = [path for path in python_files() if path.name != "_lazy.py"]
    found = {relative(path): len(list(late_imports(path))) for path in paths}
    worst = sorted(((count, name) for name, count in found.items() if count), reverse=True)[:10]
    assert sum(found.values()) <= MOST_LATE_IMPORTS, worst


def test_every_module_has_a_layer() -> None:
    top = {"workbench"} | {f"workbench.{path.stem}" for path in PACKAGE.glob("_*.py")}
    modules = {module_name(path) for path in python_files()} - top
    homeless = sorted(module for module in modules if layer_of(module) is None and not is_facade(module))
    assert homeless == [], "give the folder a place in LAYERS"


def test_files_stay_short() -> None:
    long = {relative(p): sum(1 for _ in p.open(encoding="utf-8")) for p in python_files()}
    too_long = {name: n for name, n in long.items() if n > LINE_LIMIT and name not in DATA_TABLES}
    assert too_long == {}, f"over {LINE_LIMIT} lines: split them, or list a data table with its reason"


def test_data_tables_exist_and_need_their_place() -> None:
    for name, reason in DATA_TABLES.items():
        assert reason, f"say why {name} is long"
        assert (ROOT / name).exists(), f"{name} is gone: take it off the list"


def test_heavy_packages_are_imported_in_one_place() -> None:
    wrong = []
    for path in python_files():
        for line, module in imported_modules(path):
            home = HEAVY.get(module.split(".")[0])
            if home is not None and not relative(path).startswith(home):
                wrong.append(f"{relative(path)}:{line}: {module} belongs in {home}")
    assert wrong == []


def readme_rows() -> list[list[str]]:
    """The rows of the map in workbench/README.md: stage | folder | entry function | notebook | tests."""
    rows = []
    for line in (PACKAGE / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        is_row = line.startswith("|") and len(cells) == 5
        if is_row and cells[0] != "stage" and not set(cells[0]) <= set("-: "):
            rows.append(cells)
    return rows


def targets(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_map_is_true() -> None:
    """Each folder, function, notebook and test that the map names is there; `-` says that none is yet."""
    wrong = []
    for stage, folder, entries, notebook, tests in readme_rows():
        for name in targets(folder):
            if not (PACKAGE / name).is_dir():
                wrong.append(f"{stage}: no folder workbench/{name}")
        for entry in targets(entries):
            if not entry_exists(entry):
                wrong.append(f"{stage}: no {entry}")
        for name in (*targets(notebook), *targets(tests)):
            if not (ROOT / name).exists():
                wrong.append(f"{stage}: no {name}")
    assert wrong == []


def entry_exists(dotted: str) -> bool:
    """Whether `folder.module.name` defines `name` at its top level (read, not imported)."""
    module, _, name = dotted.rpartition(".")
    base = PACKAGE.joinpath(*module.split("."))
    path = base.with_suffix(".py") if base.with_suffix(".py").exists() else base / "__init__.py"
    if not path.exists():
        return False
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef) and node.name == name:
            return True
        if isinstance(node, ast.ImportFrom) and any((a.asname or a.name) == name for a in node.names):
            return True
        if isinstance(node, ast.Assign) and name in {t.id for t in node.targets if isinstance(t, ast.Name)}:
            return True
    return False


def test_map_lists_every_folder() -> None:
    listed = {name.strip("/").split("/")[0] for row in readme_rows() for name in targets(row[1])}
    folders = {p.name for p in PACKAGE.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    assert sorted(folders - listed - FACADES) == [], "add a row to workbench/README.md"


def child_seconds(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-c", code], check=True, timeout=50, cwd=ROOT)
    return time.perf_counter() - start


def test_import_loads_nothing_heavy() -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import workbench; print(*sys.modules)"
    output = subprocess.check_output([sys.executable, "-I", "-c", code], timeout=50, text=True)
    loaded = {name.split(".")[0] for name in output.split()}
    assert loaded.isdisjoint(NOT_AT_IMPORT), sorted(loaded & set(NOT_AT_IMPORT))


def test_import_is_fast() -> None:
    """Over bare Python.  The least of several runs: another process's load can only add."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})"
    child_seconds(code + "; import workbench")
    bare = [child_seconds(code) for _ in range(5)]
    full = [child_seconds(code + "; import workbench") for _ in range(5)]
    over = min(full) - min(bare)
    assert over <= IMPORT_LIMIT_SECONDS, f"{over:.3f} s (median {statistics.median(full):.3f} s)"


def test_import_has_no_side_effect() -> None:
    """No file, thread, child process or socket comes of importing (files of Python's own cache aside)."""
    code = (
        "import sys, threading\n"
        f"sys.path.insert(0, {str(ROOT)!r}); sys.dont_write_bytecode = True\n"
        "seen = []\n"
        "def hook(event, args):\n"
        "    writes = event == 'open' and isinstance(args[1], str) and set(args[1]) & set('wax+')\n"
        "    if writes or event in ('socket.bind', 'subprocess.Popen', 'os.mkdir', 'os.remove'):\n"
        "        seen.append(event)\n"
        "sys.addaudithook(hook)\n"
        "import workbench\n"
        "assert not seen, seen\n"
        "assert threading.active_count() == 1\n"
    )
    subprocess.run([sys.executable, "-I", "-c", code], check=True, timeout=50)


def tracked_files() -> list[Path]:
    result = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode != 0:  # an unpacked source archive
        skipped = {".venv", "node_modules", "__pycache__", ".git"}
        return [p for p in ROOT.rglob("*") if p.is_file() and not skipped & set(p.relative_to(ROOT).parts)]
    return [ROOT / name for name in result.stdout.split("\0") if name and (ROOT / name).is_file()]


# The parts are joined here so that this file does not find itself.
PERSONAL = ("/" + "home/[a-z]", "/" + "Users/[A-Za-z]", "/" + "root/", "/" + "work/", r"C:\\" + "Users")
PERSONAL_PATHS = re.compile("|".join(PERSONAL))
REGISTRIES = (
    r"registry\." + "npmjs",
    r"registry\." + "yarnpkg",
    "files" + r"\.pythonhosted",
    "index" + "-url",
)
REGISTRY_HOSTS = re.compile("|".join(REGISTRIES))


@pytest.mark.parametrize("pattern", [PERSONAL_PATHS, REGISTRY_HOSTS], ids=["machine paths", "registry hosts"])
def test_tracked_files_name_no(pattern: re.Pattern[str]) -> None:
    found = []
    for path in tracked_files():
        data = path.read_bytes()
        if b"\0" in data[:4096] or len(data) > 4_000_000:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            match = pattern.search(line)
            if match:
                found.append(f"{relative(path)}:{number}: {match.group()}")
    assert found == []


# --- operators ----------------------------------------------------------------------------------------------------

# What an operator is stands in its class in topi/, and what a foreign one becomes in its frontend.  Loop IR knows no
# relay operator: "exp" and "max" are scalar functions there.
SPEAKS_OF_OPERATORS = ("topi", "frontend")
KNOWS_SCALARS_ONLY = (
    *("core", "arith", "target", "runtime", "tir", "te", "analysis", "tir.transforms", "schedule", "codegen"),
)

# Collections of names elsewhere, each with the reason why it is no fact about operators.
NAMED_TOGETHER: dict[tuple[str, frozenset[str]], str] = {
    ("workbench/relay/transforms/fold_scale_axis.py", frozenset({"add", "subtract"})): "what a rule matches",
    ("workbench/relay/dataflow_pattern/patterns.py", frozenset({"divide", "multiply"})): "a law: (a b) / c = b (a / c)",
    ("workbench/relay/ir/classic_parse.py", frozenset({"add", "subtract", "multiply", "divide"})): "signs of the text",
    ("workbench/relay/ir/dimension.py", frozenset({"max", "min"})): "functions of extents",
    ("workbench/relay/ir/script_read.py", frozenset({"max", "min"})): "functions of extents",
    ("workbench/driver/numerics/report.py", frozenset({"abs", "max"})): "the heading of a column",
    ("workbench/views/strings/checks.py", frozenset({"abs", "max"})): "the heading of a column",
}


def operators_named_together(tree: ast.AST, operators: frozenset[str]) -> Iterator[tuple[int, frozenset[str]]]:
    """Lines where two or more operators are listed by name.

    Looked at are collections that are written out, alternatives (`or`, `case`), and strings of nothing but names.
    """
    for node in ast.walk(tree):
        named: frozenset[str] = frozenset()
        if isinstance(node, ALTERNATIVES):
            named = frozenset(strings_in(node)) & operators
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = frozenset(re.split(r"[\s,|]+", node.value.strip()))
            named = words if words <= operators else named
        if len(named) > 1:
            yield node.lineno, named


ALTERNATIVES = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.BoolOp, ast.MatchOr)


def strings_in(node: ast.AST) -> Iterator[str]:
    """The strings of a collection, and of those in it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, (*ALTERNATIVES, ast.Compare, ast.MatchValue)):
        for child in ast.iter_child_nodes(node):
            yield from strings_in(child)


def test_no_table_lists_operators_by_name() -> None:
    from workbench.relay.ir.operator import OPERATORS

    operators = frozenset(name for name in OPERATORS if OPERATORS[name].__module__.startswith("workbench.topi"))
    found: set[tuple[str, frozenset[str]]] = set()
    wrong = []
    for path in python_files():
        layer = layer_of(module_name(path))
        if layer in SPEAKS_OF_OPERATORS or layer in KNOWS_SCALARS_ONLY:
            continue
        for line, named in operators_named_together(parsed(path.read_text(encoding="utf-8")), operators):
            found.add((relative(path), named))
            if (relative(path), named) not in NAMED_TOGETHER:
                wrong.append(f"{relative(path)}:{line}: {', '.join(sorted(named))}")
    assert wrong == [], "facts about operators stand in their classes (relay/ir/operator.py says which there are)"
    assert set(NAMED_TOGETHER) <= found, "take what is gone off the list"


def test_loop_programs_know_no_operators() -> None:
    wrong = [
        f"{relative(path)}:{line}: {module}"
        for path in python_files() if layer_of(module_name(path)) in KNOWS_SCALARS_ONLY
        for line, module in imported_modules(path) if layer_of(module) in ("relay", "relay.ir", "topi")
    ]  # fmt: skip
    assert wrong == []


@pytest.mark.parametrize(
    "code",
    [
        'T = ("add", "nn.relu")', 'T = {"add": 1, "nn.relu": 2}', 'T = frozenset({"add", "nn.relu"})',
        'T = [("add", 1), ("nn.relu", 2)]', 'ok = name == "add" or name == "nn.relu"', 'T = "add nn.relu".split()',
        'T = {1: "add", 2: "nn.relu"}', 'ok = name in ("add", "nn.relu", "softmax_of_mine")',
        'match name:\n    case "add" | "nn.relu":\n        pass',
    ],
)  # fmt: skip
def test_tables_of_operators_are_found(code: str) -> None:
    operators = frozenset({"add", "nn.relu"})
    assert {named for _, named in operators_named_together(ast.parse(code), operators)} == {operators}


# --- what an import waits for -----------------------------------------------------------------------------------------


def imported_on_loading(tree: ast.AST, package: str) -> Iterator[tuple[int, str, str]]:
    """(line, module, name or "") of what is imported as a file is loaded: not in functions, not for type checkers."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            left += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            yield from ((node.lineno, module, alias.name) for alias in node.names)
        left += ast.iter_child_nodes(node)


def loading(sources: dict[str, tuple[str, bool]]) -> Iterator[tuple[str, int, str, str]]:
    """(module, line, module that it imports, name or "") of all sources: text, and whether it is a package's."""
    for own, (text, is_package) in sources.items():
        for line, module, name in imported_on_loading(parsed(text), own if is_package else own.rpartition(".")[0]):
            yield own, line, module, name


@cache
def package_sources() -> dict[str, tuple[str, bool]]:
    files = ((path.read_text(encoding="utf-8"), path) for path in python_files())
    return {module_name(path): (text, path.name == "__init__.py") for text, path in files}


def waits(sources: dict[str, tuple[str, bool]]) -> dict[str, set[str]]:
    """By module, which others its import waits for: those that it imports, and the packages around them and itself."""
    wanted: dict[str, set[str]] = {own: {own} for own in sources}
    for own, _, module, name in loading(sources):
        wanted[own].add(f"{module}.{name}" if f"{module}.{name}" in sources else module)
    return {
        own: {one.rsplit(".", cut)[0] for one in ones for cut in range(one.count(".") + 1)} & set(sources) - {own}
        for own, ones in wanted.items()
    }


def circle(sources: dict[str, tuple[str, bool]]) -> list[str]:
    """Modules whose imports wait for each other; none if there are none."""
    try:
        graphlib.TopologicalSorter(waits(sources)).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_no_imports_wait_for_each_other() -> None:
    """`import package.module` waits for the package first: an `__init__` that imports a module of its own, itself or by
    others, makes a circle as much as two modules do that import each other.

    Of two threads that begin at two points of a circle, Python shows one a half-made module.
    """
    assert circle(package_sources()) == []


@pytest.mark.parametrize(
    ("package", "module", "other"),
    [
        ("from .m import x", "", ""), ("from . import m", "", ""), ("import p.m", "", ""), ("from .o import x", "", ""),
        ("", "from . import o", "from . import m"), ("", "from .o import x", "import p.m"),
        ("class C:\n    from .m import x", "", ""), ("try:\n    from .m import x\nexcept E:\n    pass", "", ""),
    ],
)  # fmt: skip
def test_circles_of_imports_are_found(package: str, module: str, other: str) -> None:
    assert circle({"p": (package, True), "p.m": (module, False), "p.o": (other, False)})


@pytest.mark.parametrize(
    ("package", "module", "other"),
    [
        ("def f():\n    from .m import x", "", ""), ("", "from . import o", ""), ("import json", "from . import x", ""),
        ("if TYPE_CHECKING:\n    from .m import x", "", ""), ("", "from .o import x", "def f():\n    from .m import x"),
    ],
)  # fmt: skip
def test_what_makes_no_circle(package: str, module: str, other: str) -> None:
    assert circle({"p": (package, True), "p.m": (module, False), "p.o": (other, False)}) == []


def test_names_come_from_the_modules_that_define_them() -> None:
    """Within the workbench nothing is imported by a package's late name: that would be an import that nobody sees."""
    sources = package_sources()
    wrong = []
    for own, line, module, name in loading(sources):
        text, is_package = sources.get(module, ("", False))
        if is_package and name and f"{module}.{name}" not in sources and name not in defined(parsed(text)):
            wrong.append(f"{own}:{line}: {name} from {module}")
    assert wrong == []


def defined(tree: ast.Module) -> set[str]:
    """What a file defines itself."""
    named = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assigned = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return named | {node.id for node in assigned}


LATE = sorted(name for name, (text, is_package) in package_sources().items() if is_package and "_NAMES" in text)


@pytest.mark.parametrize("package", LATE)
def test_late_names_are_there(package: str) -> None:
    """Each loads, and none is called like a module, whose import would put the module in its place."""
    loaded = importlib.import_module(package)
    for name, (_, attribute) in loaded._NAMES.items():
        is_module = f"{package}.{name}" in package_sources()
        assert attribute is None or not is_module, name
        assert getattr(loaded, name) is not None
        assert name in dir(loaded)


def test_files_of_the_quick_run_exist() -> None:
    """`make smoke` names them; with one gone it runs nothing."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    lists = dict(re.findall(r"^(SMOKE_\w+) := (.*)$", makefile, re.MULTILINE))
    files = [*lists["SMOKE_FILES"].split(), *lists["SMOKE_LEFT_OUT"].split()]
    missing = [name for name in files if not (ROOT / "tests" / f"{name}.py").is_file()]
    missing += [name for name in lists["SMOKE_FOLDERS"].split() if not (ROOT / "tests" / name).is_dir()]
    assert len(files) > 10 and missing == []
