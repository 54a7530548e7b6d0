"""Texts of saved changes: what is offered, what is wrong, what came of doing them again."""

from __future__ import annotations


class Changes:
    """See the module's header."""

    other_passes = "they were made on other passes or another target"
    no_change = "it changes nothing here"
    branch_is_missing = "it was done on a branch that is missing"
    in_part = "these changes were restored in part"
    rest = "restore the rest or discard it, then look at other ones"
    changed_since = "something was changed since these were restored: what was refused belongs before it"
    go_back = "undo what was changed since, then restore; or discard these and do them by hand"
    not_kept = "what was restored of these changes cannot be kept without them"
    make_room = "make room, then discard; or undo what was restored first"
    still_offered = "the program, and what is offered"
    not_followed = "what follows on it is not done"
    of_another_user = "it is owned by another user, or others may write to it"

    def other_version(self, source: str) -> str:
        return f"they were made on another version of {source}"

    def no_branch(self, title: str) -> str:
        return f"there is no branch {title!r}"

    def one_of(self, name: str, number: int, count: int) -> str:
        return f"{name}, {number} of {count}"

    def branch_was_refused(self, title: str) -> str:
        return f"the branch {title!r} is missing: a change that made it could not be done again"

    def shifted(self, name: str, then: object, now: str) -> str:
        return f"there were {then} steps {name} and there are {now}: which one is meant is not known"

    def other_calls(self, then: str) -> str:
        """`then`: "nn.conv2d, 2 of 3"."""
        return f"it was done to the call {then}, and the graph has another number of these now"

    def too_many(self, most: int) -> str:
        return f"there are more than {most:,}"

    def too_large(self, size: int, most: int) -> str:
        return f"they take {size:,} bytes, more than {most:,}"

    def command(self, what: str, at: object, kernel: object) -> str:
        """A command; `at` and `kernel` may be empty: "split of l:C:2 in main"."""
        return f"{what}{f' of {at}' if at else ''}{f' in {kernel}' if kernel else ''}"

    def taken_back(self, code: str) -> str:
        """A line of Python, perhaps more than one, that was undone."""
        return "\n".join(f"# taken back: {line}" for line in code.split("\n"))

    def refused(self, command: str, why: str) -> str:
        return f"{command}: {why}"
