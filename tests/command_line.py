"""Commands as a shell would run them."""

from __future__ import annotations

from ascd.cli import main


def run(capsys, *arguments):
    """Exit code, standard output and standard error of a command."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()
