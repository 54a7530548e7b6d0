"""Screens: thin Python halves of the widgets.  They draw views and send commands; they hold no truth.

Importing this package loads nothing of Jupyter; `PipelineStepper` and `ScheduleEditor` do, on first use.
"""
