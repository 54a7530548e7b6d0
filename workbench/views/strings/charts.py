"""Texts of charts and of facts: heat maps, footprints, caches, rooflines, reuse."""

from __future__ import annotations


class Charts:
    """See the module's header."""

    heat_map = "heat map"
    refused = "refused"

    # footprints
    touched_by_loops = "what is touched while a loop runs once"
    footprints = "footprints of loops against cache sizes"
    everything = "everything"

    def fits(self, size: str, cache: str, exact: bool) -> str:
        return f"{size}, fits {cache}" if exact else f"{size} at most, fits {cache}"

    def touched(self, buffer: str, elements: int, size: str) -> str:
        return f"{buffer}: {elements:,} elements, {size}"

    # caches
    what_served = "what served each access"
    memory = "memory"

    def served_by(self, count: int, level: str) -> str:
        return f"{count:,} by {level}"

    def miss_rate(self, accesses: str, percent: float) -> str:
        return f"{accesses} accesses, {percent:.1f} % miss"

    def misses(self, misses: int, accesses: int) -> str:
        return f"{misses:,} misses of {accesses:,} accesses"

    def misses_by_set(self, cache: str, sets: int, ways: int, to_a_cell: int) -> str:
        each = "" if to_a_cell == 1 else f", {to_a_cell} to a cell"
        return f"misses by set of {cache} ({sets} sets of {ways} ways{each})"

    def set_misses(self, number: int, misses: int) -> str:
        return f"set {number}: {misses:,} misses"

    # rooflines; rates in operations and bytes a second
    roofline = "roofline (nominal figures)"
    path = "roofline: the way of the schedule (modelled, nominal figures)"
    path_begin = "as it began"
    path_end = "now"

    path_step = "after a step"
    rate_axis = "GFLOP/s"

    def intensity_axis(self, cache: str) -> str:
        return f"operations for each byte that comes into {cache}" if cache else "operations a byte"

    def roof_of(self, threads: int, peak: float, bandwidth: float, source: str) -> str:
        cores = "one core" if threads == 1 else f"{threads} cores"
        return f"roof of {cores}: {peak / 1e9:.0f} GFLOP/s, {bandwidth / 1e9:.0f} GB/s {self._way_of(source)}"

    def _way_of(self, source: str) -> str:
        return f"from {source}" if source == self.memory else f"into {source}"

    def nominal_figures(self, clock: float, assumed: bool, measured: float | None) -> str:
        told = f"nominal, at {clock:g} GHz"
        told += " (assumed: the processor is not listed)" if assumed else ""
        return told if measured is None else f"{told}; measured peak of one core: {measured / 1e9:.0f} GFLOP/s"

    def no_arithmetic(self, moved: str, memory: float, cache: str = "") -> str:
        come = f"{moved} come into {cache}" if cache else f"at least {moved} move"
        return f"no arithmetic, so no roofline of operations: {come}, from memory at {memory / 1e9:.0f} GB/s at best"

    def path_point(self, number: int, name: str, intensity: float, rate: float) -> str:
        return f"{number}  {name}: {intensity:.2f} op/byte, {rate / 1e9:.3g} GFLOP/s"

    def path_told(self, before: float, after: float, steps: int) -> str:
        return f"roofline path of {steps} steps: {before / 1e9:.3g} to {after / 1e9:.3g} GFLOP/s, modelled"

    def path_sampled(self, looked_at: int, states: int) -> str:
        return f"{looked_at} of {states} states were looked at"

    def attainable(self, intensity: float, rate: float) -> str:
        return f"{intensity:.2f} operations a byte: {rate / 1e9:.1f} GFLOP/s at best"

    def attainable_limited(self, intensity: float, rate: float, bound: str) -> str:
        return f"{self.attainable(intensity, rate)}, limited by {bound}"

    # reuse
    first_touch = "first touch"

    def touched_between(self, line: int) -> str:
        return f"other lines touched in between ({line}-byte lines)"

    def reuse_distances(self, accesses: int) -> str:
        return f"reuse distances of {accesses:,} accesses"

    # all facts of a function, each under its heading
    loops = "loops"
    work = "work"
    footprint_table = "footprints"
    access_steps = "steps of accesses"
    vectors = "vectors"
    registers = "registers (estimate)"
    caches = "caches (simulated)"
    not_simulated = "too many accesses, or data that decide what is touched"

    def facts_for(self, target: str) -> str:
        return f"facts for {target}"
