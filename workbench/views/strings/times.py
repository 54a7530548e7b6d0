"""Times as texts, for all tables."""

from __future__ import annotations


def time_text(seconds: float) -> str:
    """Three digits in the unit that has them.

    >>> time_text(0.0123), time_text(0.00099961), time_text(3.4e-7), time_text(12.3), time_text(0.0)
    ('12.3 ms', '1.00 ms', '0.34 µs', '12.3 s', '0.00 µs')
    """
    for least, unit in ((0.9995, "s"), (0.9995e-3, "ms")):
        if seconds >= least:
            return f"{digits(seconds if unit == 's' else seconds * 1e3)} {unit}"
    return f"{digits(seconds * 1e6)} \u00b5s"


def digits(value: float) -> str:
    """A number with three digits; none behind the point from 100 on."""
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:,.0f}"
