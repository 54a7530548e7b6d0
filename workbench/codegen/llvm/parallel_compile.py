"""Compiling many modules at once (first version: one after the other)."""

from __future__ import annotations

from collections.abc import Sequence

from .machine import Job, compile_job


def compile_jobs(jobs: Sequence[Job]) -> list[bytes]:
    """Object code of each job, in order."""
    return [compile_job(job) for job in jobs]
