"""An order in which every node's inputs are there before it; a cycle is shown with its path.

Files should be sorted already; those that are not are sorted (stably) with a note.
"""

from __future__ import annotations

import heapq

from ...core.errors import WorkbenchError, shorten
from .records import NodeRecord


def computable_order(
    nodes: tuple[NodeRecord, ...], known: frozenset[str], where: str, notes: list[str]
) -> tuple[NodeRecord, ...]:
    """`nodes` sorted by dependence, keeping the file's order where it is free.  Raises `WorkbenchError` on a cycle."""
    if _is_sorted(nodes, known):
        return nodes
    makers = {made: position for position, record in enumerate(nodes) for made in record.outputs if made}
    needs = [{makers[read] for read in record.reads if read in makers} for record in nodes]
    readers: list[list[int]] = [[] for _ in nodes]
    for position, sources in enumerate(needs):
        for source in sources:
            readers[source].append(position)
    missing = [len(sources) for sources in needs]
    ready = [position for position, count in enumerate(missing) if count == 0]
    ordered: list[NodeRecord] = []
    while ready:
        position = heapq.heappop(ready)
        ordered.append(nodes[position])
        for reader in readers[position]:
            missing[reader] -= 1
            if missing[reader] == 0:
                heapq.heappush(ready, reader)
    if len(ordered) < len(nodes):
        raise _cycle(nodes, needs, missing, where)
    notes.append(f"{where}: the nodes were not in a computable order and have been sorted")
    return tuple(ordered)


def _is_sorted(nodes: tuple[NodeRecord, ...], known: frozenset[str]) -> bool:
    made = set(known)
    for record in nodes:
        if any(read not in made for read in record.reads):
            return False
        made.update(record.outputs)
    return True


def _cycle(nodes: tuple[NodeRecord, ...], needs: list[set[int]], missing: list[int], where: str) -> WorkbenchError:
    """The refusal for the nodes that never became ready; some of them form a cycle."""
    stuck = next(position for position, count in enumerate(missing) if count)
    path: list[int] = []
    place: dict[int, int] = {}
    while stuck not in place:
        place[stuck] = len(path)
        path.append(stuck)
        stuck = min(source for source in needs[stuck] if missing[source])
    loop = path[place[stuck] :][::-1]
    first = loop.index(min(loop))
    loop = loop[first:] + loop[:first]
    labels = [nodes[position].label for position in [*loop, loop[0]]]
    if len(labels) > 9:
        labels = [*labels[:4], f"... {len(labels) - 8} more ...", *labels[-4:]]
    first_node, last_node = nodes[loop[0]], nodes[loop[-1]]
    value = next(read for read in first_node.reads if read in last_node.outputs)
    return WorkbenchError(
        "E-ONNX-CYCLE",
        "the graph has a cycle",
        where=f"{where}: {' → '.join(labels)}",
        found=f"{first_node.label} reads '{shorten(value, 80)}', which {last_node.label} makes from it",
        expected="nodes that depend on earlier ones only",
        fix="break the cycle in the exporter",
    )
