"""Where a thing came from, and what it became: origins followed through the steps of a session.

    s.origins(block)                 # (ImportedFrom("onnx", "Conv#3 ('conv_out')"),)
    s.became("Conv#3 ('conv_out')")  # {"Import": (call,), ..., "FuseOps": (function, call), "Lower": (block, ...)}

`driver.trails` goes on to native code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._lazy import told
from ..core.errors import WorkbenchError, nearest
from ..core.origin import ImportedFrom
from .origin_index import Known, Site, index_of

if TYPE_CHECKING:
    from .history import Step
    from .session import Session


def origins(session: Session, thing: Any, call: int | None = None) -> tuple[Any, ...]:
    """What `thing` came from: labels of the imported file where they are known, else the imported nodes.

    `call`: for what lies in a kernel, the number of one call of it; without it, what all calls came from.
    """
    for known in reversed(index_of(session)):
        found = known.sources_of(thing, site_of(known, call))
        if found:
            return in_order(found)
    return (thing,)


def site_of(known: Known, call: int | None) -> Site | None:
    """The call of that number.  Raises `WorkbenchError` when there is none."""
    if call is None or not known.sites:
        return None
    if not isinstance(call, int) or not 0 <= call < len(known.sites):
        raise WorkbenchError(
            "E-ORIGIN-CALL",
            f"the entry has no call {call}",
            found=str(call),
            expected=f"0 to {len(known.sites) - 1}",
            fix="s.provenance.calls lists them",
        )
    return known.sites[call]


def in_order(found: Any) -> tuple[Any, ...]:
    """Labels by name if there are any, else the nodes."""
    labels = [item for item in found if isinstance(item, ImportedFrom)]
    return tuple(sorted(labels, key=lambda label: (label.kind, _number(label.name), label.name)) or found)


def _number(name: str) -> int:
    """The position in the file that a label holds: 3 of "Conv#3 ('conv_out')"."""
    digits = name.partition("#")[2].partition(" ")[0]
    return int(digits) if digits.isdigit() else -1


def label_named(session: Session, name: str) -> ImportedFrom:
    """The label of the imported file with that name, or that part of a name.  Raises `WorkbenchError` if unknown."""
    session.step(0)
    known = {
        label.name: label
        for sources in index_of(session)[0].sources.values()
        for label in sources
        if isinstance(label, ImportedFrom)
    }
    if name in known:
        return known[name]
    parts = [label for text, label in known.items() if name in text.replace("'", " ").replace("(", " ").split()]
    if len(parts) == 1:
        return parts[0]
    raise WorkbenchError(
        "E-ORIGIN-NAME",
        f"the imported model has {'no node' if not parts else f'{len(parts)} nodes'} named {name!r}",
        found=name,
        expected="a name as session.origins gives it, like \"Conv#3 ('conv_out')\"",
        fix=nearest(name, known),
    )


class Became(dict[str, tuple[Any, ...]]):
    """What a thing became, by step."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return told().became_bundle(self)


def became(session: Session, thing: Any) -> Became:
    """What `thing` (a node, an `ImportedFrom`, or the name of one) became in each step computed so far."""
    if isinstance(thing, str):
        thing = label_named(session, thing)
    known = index_of(session)
    current: dict[int, Any] = {id(thing): thing}
    result = Became()
    for index, (label, at) in enumerate(zip(session.labels, known, strict=False)):
        step = session.step(index)
        if isinstance(thing, ImportedFrom):
            present = step.stage.module.nodes()
            current = {id(node): node for node in present if node.is_traced and thing in at.sources_of(node)}
        else:
            current = _forward(current, step, at if index and not known[index - 1].sites else None)
        result[label] = tuple(current.values())
    return result


def _forward(current: dict[int, Any], step: Step, lowered: Known | None) -> dict[int, Any]:
    """The things of the program after a step that stem from `current`."""
    descendants = dict(current)
    for site in lowered.sites if lowered is not None else ():
        descendants.update({id(first): first for first, here in site.pairs if id(here) in current})
    pending = list(step.origins.items())
    grown = True
    while grown:
        grown = False
        for node, sources in pending:
            if id(node) not in descendants and any(id(source) in descendants for source in sources):
                descendants[id(node)] = node
                grown = True
    present = {id(node) for node in step.stage.module.nodes()}
    return {key: node for key, node in descendants.items() if key in present}
