"""How onnxruntime runs wherever it is measured: one set of options, so that one ratio can be held against another.

It optimises as it does by itself, on as many threads as ours, which wait for work by turning as long as a run lasts.
Between its runs they stop: the processors are those of whoever has the next turn.
"""

from __future__ import annotations

from typing import Any, Final

PROVIDERS: Final = ("CPUExecutionProvider",)


def session_options(threads: int) -> Any:
    """onnxruntime's `SessionOptions`, of which a caller may have more (a profile)."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return options
