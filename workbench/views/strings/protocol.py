"""Texts of replies: what ended a command, what no command can take, what a recording is."""

from __future__ import annotations


class Protocol:
    """See the module's header."""

    # interrupts and faults of the workbench
    interrupted = "the command was interrupted"
    ask_again = "ask again"
    as_they_were = "the program and its history are as they were"
    command_failed = "the workbench itself failed at this command"
    work_failed = "the workbench itself failed at this"
    report_it = "the log 'workbench.ui' has the traceback; please report it"
    unchanged = "the program and its history are unchanged"

    no_memory = "this takes more memory than there is"
    fits = "arrays that fit into this machine's memory"
    not_said = "how much, nobody said"
    smaller = "ask it of a program of smaller extents"

    def command(self, name: str) -> str:
        return f"command {name}"

    # arguments
    too_deep = "lists or objects deep inside each other"
    inexact = "a number too large to be exact"

    def half_character(self, text: str) -> str:
        return f"a text with half a character: {text!r}"

    # recordings
    recording = "this file is a recording: it has no kernel to ask"
    recording_can = "looking, selecting, stepping and opening groups"
    recording_keeps = "what is shown"
    open_in_notebook = "open the model in a notebook: wb.open(...).show()"
