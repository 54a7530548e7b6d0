"""Drawing numbers for samplers: a generator whose whole state is one integer, kept in the schedule's state.

The generator is the multiplicative one of Park and Miller with the multiplier 48271 ("Random number generators: good
ones are hard to find", CACM 31, 1988; remarks, CACM 36, 1993).  It is not for cryptography.

Invariant: the same state draws the same numbers on every platform; nothing is drawn from anywhere else.

>>> draws = Draws(seeded(0))
>>> draws.below(10), draws.below(10), draws.state
(4, 7, 1467356560)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from math import comb

_MODULUS = 2**31 - 1
_MULTIPLIER = 48271
_SCATTER = 0x9E3779B97F4A7C15
"""The golden ratio in 64 bits: neighbouring seeds begin far apart (Knuth, TAOCP 3, 6.4)."""


def seeded(seed: int) -> int:
    """The generator's state for a seed: any whole number."""
    return ((seed + 1) * _SCATTER >> 7) % (_MODULUS - 1) + 1


FIRST_SEED = seeded(0)
"""The generator's state in a new schedule."""


class Draws:
    """A generator; `state` afterwards is where the next one goes on."""

    def __init__(self, state: int) -> None:
        self.state = state

    def _next(self) -> int:
        self.state = self.state * _MULTIPLIER % _MODULUS
        return self.state

    def below(self, count: int) -> int:
        """One of 0 ... count - 1, all equally likely (up to count / 2**62)."""
        return ((self._next() - 1) * (_MODULUS - 1) + self._next() - 1) % count

    def weighted(self, weights: Sequence[float]) -> int:
        """An index, as likely as its weight; weights are not negative, and not all zero."""
        sums = list(accumulate(weights))
        point = (self._next() - 1) / (_MODULUS - 1) * sums[-1]
        index = bisect_right(sums, point)
        while index >= len(weights) or weights[index] == 0:
            index -= 1
        return index

    def fork(self) -> int:
        """The state for another generator, whose draws do not repeat this one's."""
        return seeded(self._next() * 32767 + 1999999973)


# --- factorisations -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def prime_powers(number: int) -> tuple[tuple[int, int], ...]:
    """The prime factors of a positive number, each with its power.

    >>> prime_powers(360)
    ((2, 3), (3, 2), (5, 1))
    """
    found: list[tuple[int, int]] = []
    prime = 2
    while prime * prime <= number:
        power = 0
        while number % prime == 0:
            number //= prime
            power += 1
        if power:
            found.append((prime, power))
        prime += 1
    return (*found, (number, 1)) if number > 1 else tuple(found)


@lru_cache(maxsize=1024)
def divisors(number: int) -> tuple[int, ...]:
    """All divisors of a positive number, in order."""
    found = [1]
    for prime, power in prime_powers(number):
        found = [divisor * prime**exponent for divisor in found for exponent in range(power + 1)]
    return tuple(sorted(found))


def factorisations(number: int, parts: int) -> int:
    """In how many ways `number` is a product of `parts` factors, in order.

    >>> factorisations(4, 2)
    3
    """
    if parts == 0:
        return 1 if number == 1 else 0
    count = 1
    for _, power in prime_powers(number):
        count *= comb(power + parts - 1, parts - 1)
    return count


def draw_factors(draws: Draws, number: int, parts: int, innermost: int | None = None) -> tuple[int, ...]:
    """`parts` factors whose product is `number`, the last at most `innermost`; each choice equally likely."""
    factors: list[int] = []
    for left in range(parts, 1, -1):
        choices = [part for part in divisors(number) if factors or innermost is None or part <= innermost]
        chosen = choices[draws.weighted([factorisations(number // part, left - 1) for part in choices])]
        factors.append(chosen)
        number //= chosen
    return (*[number] * (parts > 0), *reversed(factors))
