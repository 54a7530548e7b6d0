"""Immutable program nodes and the walks that every layer uses.

A node is a frozen, slotted dataclass with identity equality.  Field values are nodes, tuples (nested freely),
`FrozenMap`s, or plain data (numbers, text, dtypes, enums, constants).  Every walk here is iterative and memoised by
identity, so chains of 20,000 nodes are as safe as short ones.

    @node
    class Pair(Node):
        left: Node
        right: Node

Three facts of a class steer comparison and binding (all optional class variables):
  binds        fields whose variables are introduced by the node (`For.var`, `Function.params`)
  is_variable  the node stands for a name: compared by a bijection built at its binder
  is_graph     sharing is part of the meaning (relay): the same object twice differs from two equal objects
"""

from __future__ import annotations

import copyreg
import dataclasses
import inspect
import re
from collections.abc import Callable, Hashable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from operator import attrgetter, is_not
from types import NoneType
from typing import Any, ClassVar, Final, TypeAlias, TypeVar, cast, dataclass_transform

import numpy as np

from . import origin
from .errors import WorkbenchError
from .per_node import per_node
from .tensor import Tensor

N = TypeVar("N", bound="Node")
FieldValue: TypeAlias = "Node | tuple[FieldValue, ...] | FrozenMap | Hashable"
"""What a field holds: nodes, tuples (nested freely), maps, and plain data, which is hashable."""

NODE_CLASSES: dict[str, type[Node]] = {}
"""Every node class by `class_key`, for loading saved programs; filled by `@node`."""


def class_key(cls: type) -> str:
    """The name under which a class is saved: "arith.nodes.Var"."""
    return f"{cls.__module__.removeprefix('workbench.')}.{cls.__qualname__}"


def _no_values(node: Any) -> tuple[FieldValue, ...]:
    return ()


class Node:
    """The base of all program nodes."""

    __slots__ = ("__weakref__", "_children")
    field_names: ClassVar[tuple[str, ...]] = ()
    binds: ClassVar[tuple[str, ...]] = ()
    renameable: ClassVar[tuple[str, ...]] = ()
    """Fields that `structural_equal` ignores: the spelling of names."""
    is_variable: ClassVar[bool] = False
    is_graph: ClassVar[bool] = False
    is_traced: ClassVar[bool] = True
    """Whether origins are kept for nodes of the class.  Scalar expressions are not: the statement around them is."""
    class_code: ClassVar[Any] = None
    """Answers the key of the class's code, where users wrote it, so that its name does not say what it does."""
    field_values: ClassVar[staticmethod[[Any], tuple[FieldValue, ...]]] = staticmethod(_no_values)
    """All field values in order, read at once."""
    child_names: ClassVar[tuple[str, ...]] = ()
    """The fields that may hold nodes."""
    child_values: ClassVar[staticmethod[[Any], tuple[FieldValue, ...]]] = staticmethod(_no_values)
    """Their values in order, read at once."""

    def replace(self: N, **changes: Any) -> N:
        """A copy with some fields changed, derived from this node; `self` if nothing differs."""
        if all([getattr(self, name) is value for name, value in changes.items()]):
            return self
        values = dict(zip(self.field_names, self.field_values(self), strict=True))
        made = type(self)(**(values | changes))
        if made.is_traced:
            origin.derived(made, self)
        return made

    def completed(self, module: Any, before: Node | None) -> None:
        """Called on a function of a module after a pass has made it of `before` (None: it is new).

        What a pass may leave to its driver happens here; a relay function gets its types.
        """

    def __copy__(self: N) -> N:
        return self

    def __deepcopy__(self: N, memo: dict[int, Any]) -> N:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        from .flat import flatten, unflatten

        return (unflatten, (flatten(self),))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_brief(getattr(self, name))}" for name in self.field_names)
        return f"{type(self).__name__}({shown})"


class FrozenMap(Mapping[str, Any]):
    """An immutable mapping with text keys, for attributes and annotations; keeps insertion order."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        """Containers among the values become immutable ones.  Raises E-TEXT-SURROGATE for what is no Unicode text."""
        made: dict[Any, Any] = dict(items)
        for key, value in made.items():
            if isinstance(key, str) and not key.isascii():
                require_unicode(key)
            if not (type(value) in _IMMUTABLE or isinstance(value, Node) or (type(value) is str and value.isascii())):
                made[key] = frozen(value)
        self._items = made

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    # The dict's own, for speed: those of `Mapping` look up one key after the other.

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def get(self, key: str, default: Any = None) -> Any:
        return self._items.get(key, default)

    def keys(self) -> KeysView[str]:
        return self._items.keys()

    def values(self) -> ValuesView[Any]:
        return self._items.values()

    def items(self) -> ItemsView[str, Any]:
        return self._items.items()

    def __hash__(self) -> int:
        return hash(tuple(self._items))

    def __repr__(self) -> str:
        return f"FrozenMap({self._items!r})"

    def set(self, key: str, value: Any) -> FrozenMap:
        """A map with one entry more (or changed)."""
        return FrozenMap(self._items | {key: value})

    def without(self, key: str) -> FrozenMap:
        return FrozenMap({name: value for name, value in self._items.items() if name != key})


EMPTY = FrozenMap()
_IMMUTABLE: Final = frozenset({bool, int, float, bytes, NoneType, FrozenMap})


def frozen(value: Any) -> Any:
    """A value that nobody can change: lists as tuples, dicts as maps, arrays as tensors, copied; others as they are.

    Raises E-TEXT-SURROGATE for what is no Unicode text.
    """
    if isinstance(value, str):
        return require_unicode(value)
    if type(value) is tuple:
        items = cast("tuple[Any, ...]", value)
        if all(type(item) in _IMMUTABLE for item in items):
            return items
        made = tuple([frozen(item) for item in items])
        return items if all(new is old for new, old in zip(made, items, strict=True)) else made
    if isinstance(value, list):
        return tuple([frozen(item) for item in cast("list[Any]", value)])
    if isinstance(value, dict):
        return FrozenMap(cast("dict[str, Any]", value))
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, Any]", value)
        return Tensor.of(array) if array.dtype.kind in "biufcV" else array
    return value


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    return text.isascii() or _SURROGATE.search(text) is None


def require_unicode(text: str) -> str:
    """The text.  Raises E-TEXT-SURROGATE for lone surrogates, which no file, page or key can hold."""
    if not is_unicode(text):
        raise WorkbenchError(
            "E-TEXT-SURROGATE", "the text holds a lone surrogate, which is no character", found=ascii(text)[:80],
            expected="Unicode text", fix="leave it out: text.encode(errors='replace').decode()",
        )  # fmt: skip
    return text


_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(dataclasses.field,))
def node(cls: type[N]) -> type[N]:
    """Make a class a node: frozen, slotted, identity equality; `cls.field_names` lists its fields in order.

    Its fields of text hold Unicode: E-TEXT-SURROGATE is raised otherwise.
    """
    texts = tuple(name for name, kind in inspect.get_annotations(cls).items() if kind == "str")
    if texts:
        _check_texts(cls, texts)
    made: Any = dataclasses.dataclass(frozen=True, slots=True, eq=False, repr=False)(cls)
    made.field_names = tuple(field.name for field in dataclasses.fields(made) if field.init)
    made.field_values = staticmethod(_reader(made.field_names))
    inside = tuple(field.name for field in dataclasses.fields(made) if field.init and field.type not in _LEAF_TYPES)
    made.child_names = inside
    made.child_values = staticmethod(_reader(inside))
    if not inside:
        made._children = ()
    made.__getstate__ = None
    made.__reduce__ = Node.__reduce__
    NODE_CLASSES[class_key(made)] = made
    return made


def _check_texts(cls: Any, names: tuple[str, ...]) -> None:
    """Let nodes of a class refuse what is no Unicode text when they are made."""
    then = getattr(cls, "__post_init__", None)

    def checked(self: Any) -> None:
        for name in names:
            text = getattr(self, name)
            if isinstance(text, str) and not text.isascii():
                require_unicode(text)
        if then is not None:
            then(self)

    cls.__post_init__ = checked


_LEAF_TYPES = frozenset({"bool", "int", "float", "str", "DataType"})
"""Annotations of fields that hold no node; most fields of most nodes, and never worth a look."""


def _reader(names: tuple[str, ...]) -> Callable[[Any], tuple[FieldValue, ...]]:
    if not names:
        return _no_values
    getter = attrgetter(*names)
    return getter if len(names) > 1 else lambda node: (getter(node),)


copyreg.pickle(FrozenMap, lambda value: (FrozenMap, (tuple(value.items()),)))  # type: ignore[arg-type]


def _brief(value: Any) -> str:
    """A field's value for `repr`: children by class only, so that `repr` never recurses."""
    if isinstance(value, Node):
        return f"<{type(value).__name__}>"
    if isinstance(value, tuple):
        items = cast("tuple[Any, ...]", value)
        shown = ", ".join(_brief(item) for item in items[:4])
        return f"({shown}{', …' if len(items) > 4 else ''})"
    return repr(value)


# --- children -----------------------------------------------------------------------------------------------------


def nodes_in(value: FieldValue) -> Iterator[Node]:
    """The nodes directly inside a field's value (looking through tuples and maps)."""
    if isinstance(value, Node):
        yield value
    elif type(value) is tuple:
        for item in value:
            yield from nodes_in(item)
    elif type(value) is FrozenMap:
        for item in value.values():
            yield from nodes_in(item)


def children(parent: Node) -> tuple[Node, ...]:
    """The child nodes of `parent`, in field order.  Found once in the node's life: programs are walked many times."""
    found: tuple[Node, ...] | None = getattr(parent, "_children", None)
    if found is None:
        found = tuple(_children(parent))
        object.__setattr__(parent, "_children", found)
    return found


def _children(parent: Node) -> list[Node]:
    found: list[Node] = []
    for value in parent.child_values(parent):
        if isinstance(value, Node):
            found.append(value)
        elif type(value) is tuple:
            for item in value:
                if isinstance(item, Node):
                    found.append(item)
                elif type(item) is tuple or type(item) is FrozenMap:
                    found.extend(nodes_in(item))
        elif type(value) is FrozenMap and value:
            found.extend(nodes_in(value))
    return found


def map_value(value: FieldValue, function: Callable[[Node], Any]) -> Any:
    """`value` with `function` applied to the nodes in it; the same object when none changed."""
    if isinstance(value, Node):
        return function(value)
    if type(value) is tuple:
        mapped = tuple([map_value(item, function) for item in value])
        return mapped if any(map(is_not, mapped, value)) else value
    if type(value) is FrozenMap and value:
        items = {key: map_value(item, function) for key, item in value.items()}
        return value if all(items[key] is item for key, item in value.items()) else FrozenMap(items)
    return value


def map_children(parent: N, function: Callable[[Node], Any]) -> N:
    """`parent` rebuilt with `function` applied to its children; the same object when none changed."""
    changes: dict[str, Any] = {}
    for name in parent.child_names:
        value = getattr(parent, name)
        mapped = map_value(value, function)
        if mapped is not value:
            changes[name] = mapped
    return parent.replace(**changes) if changes else parent


# --- walks --------------------------------------------------------------------------------------------------------


def post_order(root: Node | Iterable[Node]) -> Iterator[Node]:
    """Each node reachable from `root` once, children before parents."""
    seen: set[int] = set()
    entered: list[Node] = []
    stack: list[Node | None] = [*_roots(root)]
    while stack:
        current = stack.pop()
        if current is None:  # the children of the node entered last are done
            yield entered.pop()
            continue
        if id(current) in seen:
            continue
        seen.add(id(current))
        below = children(current)
        if not below:
            yield current
            continue
        entered.append(current)
        stack.append(None)
        stack.extend(reversed(below))


def pre_order(root: Node | Iterable[Node], within: type[Node] | None = None) -> Iterator[Node]:
    """Each node reachable from `root` once, parents before children; only by way of nodes of class `within`."""
    seen: set[int] = set()
    stack = _roots(root)
    while stack:
        current = stack.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        below = children(current)
        if not below:
            continue
        if within is not None:
            below = [child for child in below if isinstance(child, within)]
        stack.extend(reversed(below))


def written_size(root: Node | Iterable[Node], known: dict[int, int] | None = None) -> int:
    """How many nodes `root` has when it is written out: one that stands in several places counts in each.

    `known` holds the sizes of nodes by identity, and takes those that are counted.
    """
    return written_count(root, lambda node: 1, known)


def written_count(root: Node | Iterable[Node], own: Callable[[Node], int], known: dict[int, int] | None = None) -> int:
    """The sum of `own` over the nodes of `root` as it is written out.  `known` is as in `written_size`."""
    counts = {} if known is None else known
    total = 0
    for top in _roots(root):
        stack: list[tuple[Node, tuple[Node, ...] | None]] = [(top, None)]
        while stack:
            current, below = stack.pop()
            if below is not None:
                counts[id(current)] = own(current) + sum([counts[id(child)] for child in below])
            elif id(current) not in counts:
                below = children(current)
                stack.append((current, below))
                stack.extend([(child, None) for child in below if id(child) not in counts])
        total += counts[id(top)]
    return total


def _roots(root: Node | Iterable[Node]) -> list[Node]:
    return [root] if isinstance(root, Node) else list(root)[::-1]


def traced_nodes(root: Node | Iterable[Node]) -> Iterator[Node]:
    """Each node under `root` for whose class origins are kept, once; what is inside others is not looked at."""
    seen: set[int] = set()
    stack = _roots(root)
    while stack:
        current = stack.pop()
        if id(current) in seen or not current.is_traced:
            continue
        seen.add(id(current))
        yield current
        stack.extend(children(current))


@per_node
def _traced_below(function: Node) -> tuple[Node, ...]:
    return tuple(node for node in traced_nodes(function) if node is not function)


def traced_in(functions: Iterable[Node]) -> Iterator[Node]:
    """The same of functions of a program, each looked through once in its life; what they share comes twice."""
    for function in functions:
        yield from (function,) if function.is_traced else ()
        yield from _traced_below(function)


def rewrite(
    root: Node,
    post: Callable[[Any], Any] | None,
    pre: Callable[[Any], Any] | None = None,
) -> Any:
    """Rebuild a program bottom-up, each distinct node once.

    `post(node)`, if given, sees a node whose children are rewritten already and returns its replacement (or None to
    keep it).
    `pre(node)`, if given, may answer a replacement before the children are visited; it is then final.
    Origins follow: what replaces a node derives from it.
    """
    done: dict[int, Any] = {}
    entered: list[tuple[Node, tuple[Node, ...]]] = []
    stack: list[Node | None] = [root]
    while stack:
        current = stack.pop()
        if current is None:  # the children of the node entered last are done
            current, below = entered.pop()
            done[id(current)] = _replaced(current, below, done, post)
            continue
        if id(current) in done:
            continue
        answer = pre(current) if pre is not None else None
        if answer is not None:
            if answer is not current and isinstance(answer, Node) and answer.is_traced:
                origin.derived(answer, current)
            done[id(current)] = answer
            continue
        below = children(current)
        if not below:
            done[id(current)] = _replaced(current, below, done, post) if post is not None else current
            continue
        entered.append((current, below))
        stack.append(None)
        stack.extend(below)
    return done[id(root)]


def _replaced(
    current: Node, below: tuple[Node, ...], done: dict[int, Any], post: Callable[[Any], Any] | None
) -> Any:
    """What becomes of a node whose children, `below`, are done."""
    rebuilt = current
    for child in below:
        if done[id(child)] is not child:
            rebuilt = map_children(current, lambda child: done[id(child)])
            break
    answer = post(rebuilt) if post is not None else None
    if answer is None or answer is rebuilt:
        return rebuilt
    if isinstance(answer, Node) and answer.is_traced:
        origin.derived(answer, current)
    return answer


def substitute(root: Node, mapping: Mapping[Any, Any]) -> Any:
    """Replace variables by values (`mapping` is keyed by node identity).  Binders keep their variables."""
    if not mapping:
        return root
    if not children(root) and not root.is_traced:
        return mapping.get(root, root)
    by_identity = {id(key): value for key, value in mapping.items()}

    def pre(current: Node) -> Any:
        return by_identity.get(id(current))

    return rewrite(root, None, pre)
