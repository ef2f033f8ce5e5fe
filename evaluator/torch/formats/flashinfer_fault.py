"""A fault of one definition or solution; the others go on."""


class Fault(Exception):
    """Why one problem can't become a task."""

    def __init__(self, rule, reason):
        super().__init__(reason)
        self.rule, self.reason = rule, reason

    def as_json(self):
        return {"rule": self.rule, "reason": self.reason}
