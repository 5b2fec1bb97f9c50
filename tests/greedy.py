"""A congestion control that never reduces its window."""


def greedy(segments: int) -> str:
    """Return the text of a class Greedy with a window of `segments` segments."""
    return f"""\
class Greedy:
    def __init__(self, mss, window):
        self.window = {segments} * mss
    def acknowledged(self, ack):
        pass
    def lost(self, event):
        pass
    def timeout(self, event):
        pass
"""
