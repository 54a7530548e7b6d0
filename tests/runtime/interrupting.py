"""A real signal to this process as soon as native code says that it is inside, whatever the machine is busy with."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def interrupted_inside(flag: np.ndarray) -> Iterator[list[float]]:
    """Ctrl-C once native code has stored a number other than 0 in `flag[0]`.

    Yields a list that holds the processor seconds of this process at the signal, once it was sent.  SIGUSR1 stands for
    SIGINT, which a caller may have told this process to ignore.
    """
    over = threading.Event()
    sent: list[float] = []

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def watch() -> None:
        while not flag[0] and not over.is_set():
            time.sleep(0.001)
        if not over.is_set():
            sent.append(time.process_time())
            os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield sent
    finally:
        over.set()
        watcher.join()
        signal.signal(signal.SIGUSR1, before)
