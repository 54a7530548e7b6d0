"""Whether a process that told of itself is there."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from workbench.core.host import is_alive, this_process

TELLS = """
import json
from workbench.core.host import this_process
print(json.dumps(this_process()), flush=True)
input()
"""


def test_a_process_is_alive_until_it_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", TELLS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None and other.stdout is not None
        told = json.loads(other.stdout.readline())
        assert is_alive(told) and is_alive(this_process())
        other.stdin.write(b"\n")
        other.stdin.close()
    assert not is_alive(told)


@pytest.mark.parametrize("other", [{"began": "1"}, {"host": "another"}, {"number": "-1"}, {"number": "4\x00"}])
def test_who_only_looks_like_it_is_not(other: dict[str, str]) -> None:
    """A number that the system gave to another process since, another machine, junk of a file."""
    assert not is_alive({**this_process(), **other})


@pytest.mark.parametrize("junk", [None, "", 7, [], {}])
def test_junk_is_not_alive(junk: object) -> None:
    assert not is_alive(junk)
