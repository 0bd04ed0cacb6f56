"""Placeholder until merged."""


class Smooth:
    def __init__(self, state):
        self.state = state

    def applies(self):
        return False

    def takes_all(self):
        return False
