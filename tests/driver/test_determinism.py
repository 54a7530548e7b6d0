"""The same input gives the same programs, schedules, code and answers in every process, whatever its hash seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

BUILD = """
import hashlib, json, sys
import numpy as np
from tests.driver.programs import small_inputs, small_model
from tests.models import find_model
from workbench.codegen.llvm import cache
from workbench.driver.open import open_session

def digest(text):
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()[:16]

def seen(session, inputs, steps):
    facts = {session[name].name: digest(session[name].script()) for name in steps or session.labels}
    facts["rewrites"] = digest("\\n".join(f.rule.name for handle in session.steps for f in handle.rewrites))
    facts["origins"] = digest(str([(len(handle.step.origins), handle.name) for handle in session.steps]))
    for name in session.kernels:
        facts["trace of " + name] = digest(session.schedule(name).trace.as_json())
    module = session.build().module
    facts["llvm"] = digest(module.get_source("ll"))
    facts["objects"] = [digest(data) for data in module.code.objects]
    outputs = session.run(inputs)
    again = session.run(inputs)
    assert all((outputs[name] == again[name]).all() for name in outputs), "a second run differs"
    facts["outputs"] = {name: digest(array.tobytes()) for name, array in outputs.items()}
    return facts

found = {"small": seen(open_session(small_model()), small_inputs(), ())}
path = str(find_model("dnsmos_model_v8"))
sound = np.random.default_rng(0).standard_normal((1, 900, 120)).astype(np.float32)
session = open_session(path, shape={"input_1": sound.shape})
found["dnsmos"] = seen(session, {"input_1": sound}, ("FuseOps", "Schedule"))
assert cache.counts.disk == 0
print(json.dumps(found))
"""


def facts(seed: int) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PYTHONHASHSEED": str(seed),
        "PYTHONPATH": str(ROOT),
        "WORKBENCH_CACHE": "off",
        "WORKBENCH_NUM_THREADS": "2",
    }
    return subprocess.Popen(
        [sys.executable, "-c", BUILD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def two_answers(seed: int) -> list[dict[str, dict[str, object]]]:
    answers = []
    for process in [facts(seed), facts(seed)]:
        out, err = process.communicate(timeout=55)
        assert process.returncode == 0, err
        answers.append(json.loads(out))
    return answers


first: list[dict[str, dict[str, object]]] = []
"""The answer of the first process of all."""


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [4242, 0, 1])
def test_two_processes_of_a_hash_seed_agree_with_all_others(seed: int) -> None:
    for other in two_answers(seed):
        if not first:
            first.append(other)
        expected = first[0]
        different = [
            (model, what)
            for model, found in expected.items()
            for what in {**found, **other[model]}
            if found.get(what) != other[model].get(what)
        ]
        assert different == []
