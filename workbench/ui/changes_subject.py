"""The screen of a session as its journal of changes sees it: names that hold in another process."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from operator import eq
from typing import TYPE_CHECKING, Any, Final

from workbench.core.errors import WorkbenchError
from workbench.driver.history import Action, identities
from workbench.ui.changes_replay import OF_A_KERNEL, MissingBranch
from workbench.ui.pipeline import PipelineCommands
from workbench.ui.pipeline_edits import Call, plan
from workbench.views.layers import LayersModel
from workbench.views.strings.tables import say

if TYPE_CHECKING:
    from workbench.driver.session import Session
    from workbench.schedule.schedule import Schedule
    from workbench.ui.changes import Record
    from workbench.ui.journal import Journal

_SWITCH_ON: Final = "pipeline.switch_on"
"""The one command for what is left out."""
LASTING: Final = "lasting"
"""Where the names stand that hold in another process; no command has an argument of this name."""


class SessionSubject:
    """A `Subject` (see `ui.changes`) on a session and the schedules of its kernels."""

    def __init__(
        self,
        session: Callable[[], Session],
        schedule: Callable[[str], Schedule],
        steps: PipelineCommands,
        given: Callable[[], str],
        record: Callable[[], Record],
        journal: Callable[[], Journal],
    ) -> None:
        self._session, self._schedule, self._steps, self._given = session, schedule, steps, given
        self.record, self._journal = record, journal

    def place(self) -> dict[str, str]:
        """What is worked on, by content; asking runs nothing."""
        session = self._session()
        known = identities(session.actions)
        file = "file" if session.plan.program.file else ""
        return {
            "source": session.source, "file": file, "digest": known[0], "start": known[-1], "kernel": self._given()
        }  # fmt: skip

    def state(self) -> str:
        """The list of steps, and what each step that is known read of a user's operators, rules and intrinsics."""
        session = self._session()
        return json.dumps([plan(self._listed()), session.history.users_keys(session.actions)])

    def is_in(self, state: str) -> bool:
        """Steps that only one of the two knows say nothing: what they read follows from the plan."""
        try:
            listed, read = json.loads(state)
        except (ValueError, TypeError):  # of a file that holds anything
            return False
        ours_listed, ours_read = json.loads(self.state())
        return listed == ours_listed and all(map(eq, read, ours_read))

    def mark(self) -> object:
        return self._steps.model

    def calls(self) -> Sequence[Call]:
        return self._steps.edits.done

    def standing(self) -> object:
        return self._steps.edits.mark, len(self._journal().entries)

    def back_to(self, standing: Any) -> None:
        mark, written = standing
        self._steps.edits.back_to(mark)
        self._journal().back_to(written)  # what it holds since comes to nothing

    def turned(self) -> str:
        return self._steps.edits.turned

    def lasting(self, op: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments without the picture that was clicked on; steps with their names, branches with their ids."""
        kept = {name: value for name, value in args.items() if name not in ("seen", LASTING)}
        names = dict[str, str]()
        label = next((label for step, label, _ in self._listed() if step == kept.get("step")), None)
        if label is not None:
            names |= {"label": label, "of": str(self._alike(label, op))}
        if op == "set_attribute":
            names["call"] = self._call_meant(kept)
        if op in OF_A_KERNEL and (made_of := self._made_of().get(str(kept.get("kernel")))):
            names["made_of"] = made_of
        if op == "branch":
            names |= self._branch_meant(kept.get("number"))
        if op in ("schedule.go", "schedule.switch"):
            names["state"] = self._state_meant(op, kept)
        return {**kept, LASTING: names} if names else kept

    def here(self) -> str:
        return identities(self._session().actions)[-1]

    def current(self, op: str, args: Mapping[str, Any], became: Mapping[str, str]) -> dict[str, Any]:
        found = dict(args)
        names = found.pop(LASTING, None)
        names = names if isinstance(names, dict) else {}  # a file may hold anything
        label = names.get("label")
        listed = self._listed()
        if label and all(step != found.get("step") for step, _, _ in listed):
            meant = [step for step, name, out in listed if (name, out) == (label, op == _SWITCH_ON)]
            if meant and names.get("of", "") not in ("", alike := str(self._alike(label, op))):
                raise WorkbenchError("E-UI-CHANGES", say.changes.shifted(_base(label), names["of"], alike))
            found |= {"step": meant[0]} if meant else {}
        if "call" in names:
            found |= self._call_named(str(names["call"]), found)
        if (made_of := names.get("made_of")) and op in OF_A_KERNEL:
            found["kernel"] = self._kernel_made_of(str(made_of), found.get("kernel"))
        if op == "branch":
            found["number"] = self._branch_named(names, became)
        if op in ("schedule.go", "schedule.switch"):
            self._go_by_state(op, found, str(names.get("state", "")))
        if op == "lens.release":
            found["seen"] = self._schedule(found["kernel"]).fingerprint()
        return found

    def _alike(self, label: str, op: str) -> int:
        """How many steps have a label's name, of those that run or of those that are left out: it counts these."""
        return sum(
            (_base(name), out) == (_base(label), op == _SWITCH_ON) for _, name, out in self._listed()
        )  # fmt: skip

    def _calls(self, args: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The calls of the graph that the arguments name: "nn.conv2d, 2 of 3", with the place of each."""
        try:
            calls = LayersModel(self._session()).calls(args["layer"], args["step"]).calls
        except (WorkbenchError, LookupError, TypeError):  # the command will say so
            return {}
        counts, seen = Counter(one.op for one in calls), Counter[str]()
        found = dict[str, dict[str, Any]]()
        for one in calls:
            seen[one.op] += 1
            found[say.changes.one_of(one.op, seen[one.op], counts[one.op])] = {"place": one.place, "number": one.number}
        return found

    def _call_meant(self, args: Mapping[str, Any]) -> str:
        meant = {name: args.get(name) for name in ("place", "number")}
        return next((name for name, at in self._calls(args).items() if at == meant), "")

    def _call_named(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Where a call stands here.  Raises `WorkbenchError` where the graph has other calls of its operator."""
        found = self._calls(args)
        if found and name and name not in found:
            raise WorkbenchError("E-UI-CHANGES", say.changes.other_calls(name[:120]))
        return found.get(name, {})

    def _made_of(self) -> dict[str, str]:
        """Of each kernel the fused function that it was lowered from, by content, where that is known by now."""
        session = self._session()
        step = session.history.peek(session.actions, session.plan.kernel_step())
        kernels = step.stage.kernels(session.target) if step is not None else {}
        return {name: kernel.fingerprint for name, kernel in kernels.items()}

    def _kernel_made_of(self, made_of: str, name: Any) -> Any:
        """The name that a kernel has here: names are numbered anew where the graph is another one."""
        try:
            self._session().kernels  # noqa: B018  the program is lowered by that
        except WorkbenchError:  # the command says so
            return name
        known = self._made_of()
        if known.get(str(name)) == made_of:
            return name
        return next((one for one, of in known.items() if of == made_of), name)

    def _state_meant(self, op: str, args: Mapping[str, Any]) -> str:
        """The fingerprint of the state that a command goes to; "" where there is none, which the command will say."""
        try:
            moves = self._schedule(args["kernel"]).moves
            number = moves.last(args["branch"]) if op == "schedule.switch" else args["number"]
            known = {one for one, _, _ in moves.tree}
            return moves.state(number).fingerprint if number in known else ""
        except (WorkbenchError, LookupError, TypeError):
            return ""

    def _go_by_state(self, op: str, args: dict[str, Any], state: str) -> None:
        """Put the number that the state has here into the arguments.  Raises `WorkbenchError` where there is none.

        Other questions asked on the way, or a text replayed that changed nothing, give states other numbers.
        """
        moves = self._schedule(args["kernel"]).moves
        if op == "schedule.go":
            number = moves.find(state)
        else:
            ends = (moves.state(moves.last(branch)).fingerprint for branch in range(len(moves.stories)))
            number = next((branch for branch, known in enumerate(ends) if known == state), None)
        if number is None:
            raise WorkbenchError("E-UI-CHANGES", "the schedule has not been in the state that was gone to")
        args["branch" if op == "schedule.switch" else "number"] = number

    def _listed(self) -> list[tuple[str, str, bool]]:
        """Of every step in the list of steps its id, its name and whether it is left out."""
        model: Any = self._steps.model
        return model.names()

    def _branch_meant(self, number: Any) -> dict[str, str]:
        """A branch by content, by what its plan is on any program, and in words; empty where there is none."""
        session = self._session()
        listed = session.history.branches
        if type(number) is not int or not 0 <= number < len(listed):
            return {"branch": ""}
        return {
            "branch": identities(listed[number])[-1], "passes": _passes(listed[number]),
            "title": session.branches.parting(number),
        }  # fmt: skip

    def _branch_named(self, names: Mapping[str, Any], became: Mapping[str, str]) -> int:
        """The number here of a branch.  Raises `MissingBranch`: a number of then may be another branch's now."""
        branch = str(names.get("branch"))
        listed = self._session().history.branches
        known = [identities(actions)[-1] for actions in listed]
        for wanted in (became.get(branch), branch):
            if wanted in known:
                return known.index(wanted)
        passes = [_passes(actions) for actions in listed]  # of another version of the program
        if names.get("passes") in passes:
            return passes.index(str(names["passes"]))
        raise MissingBranch(branch, str(names.get("title", branch))[:200])


def _base(label: str) -> str:
    """A step's name without its number."""
    return label.partition("#")[0]


def _passes(actions: Sequence[Action]) -> str:
    """What is done to a program, by content, whichever program it is."""
    return identities(actions[1:])[-1] if len(actions) > 1 else ""
