"""A JupyterLab server for one test: offline, in a folder of its own, ended with all its children."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "for-this-test-only"
NEWS_OFF = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}


class LabServer:
    """`with LabServer(folder) as lab:` serves `folder`; `lab.url(path)` opens a file of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._home = folder / ".jupyter"
        self._log = folder / "lab.log"
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = int(probe.getsockname()[1])

    def url(self, path: str) -> str:
        return f"{self.origin}/lab/tree/{path}?token={TOKEN}&reset"

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> LabServer:
        settings = self._home / "settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        (settings / "notification.jupyterlab-settings").write_text(json.dumps(NEWS_OFF))
        (self._home / "config").mkdir()
        (self._home / "config" / "jupyter_lab_config.json").write_text(json.dumps(self._configuration()))
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command(), cwd=self.folder, env=self._environment(), stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        try:
            self._wait()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._end()

    def _configuration(self) -> dict[str, dict[str, Any]]:
        return {
            "IdentityProvider": {"token": TOKEN},
            "ServerApp": {"ip": "127.0.0.1", "port": self._port, "port_retries": 0},
            "LabApp": {"expose_app_in_browser": True},
        }

    def _command(self) -> list[str]:
        """What `make lab` runs."""
        options = ["--folder", str(self.folder), "--no-browser"]
        return [sys.executable, "-m", "workbench.driver.cli", "lab", *options]

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        return {
            **os.environ,
            "PYTHONPATH": path,
            "HOME": str(self.folder),
            "JUPYTER_CONFIG_DIR": str(self._home / "config"),
            "JUPYTER_RUNTIME_DIR": str(self._home / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(self._home / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self._home / "workspaces"),
            "IPYTHONDIR": str(self._home / "ipython"),
        }

    def _wait(self, seconds: float = 60.0) -> None:
        assert self._process is not None
        stop = time.monotonic() + seconds
        while time.monotonic() < stop:
            if self._process.poll() is not None:
                break
            try:
                urllib.request.urlopen(f"{self.origin}/api?token={TOKEN}", timeout=2).close()
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        raise RuntimeError(f"JupyterLab did not start:\n{self._log.read_text(errors='replace')[-3000:]}")

    def _end(self) -> None:
        """Ask the group to end, then end it: the kernel must not outlive the test."""
        process = self._process
        if process is None:
            return
        for signal_number, seconds in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
            try:
                os.killpg(process.pid, signal_number)
                process.wait(seconds)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return


def notebook(*cells: str) -> dict[str, Any]:
    """A notebook of code cells."""
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "cells": [
            {
                "cell_type": "code",
                "id": f"cell{n}",
                "metadata": {},
                "source": c,
                "outputs": [],
                "execution_count": None,
            }
            for n, c in enumerate(cells)
        ],
    }
