"""The command ``ascd`` and its help; commands are imported when they are called, so that help is quick."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = {
    "convert": "Turn a CSV or LIBSVM file into data that are read chunk by chunk.",
    "demo": "Fit a wide Lasso with its proof, race the rules, write a report to open in a browser.",
    "fit": "Fit a model to a data file; write a model file and a summary with its certificate.",
    "info": "Versions, compiled-code cache and threads.",
    "path": "Coefficients along a path of penalties, as a table and a picture.",
    "predict": "Predict with a fitted model.",
    "reproduce": "Run the paper's figures and test its claims.",
}

EPILOG = """\b
Tab completion:   eval "$(_ASCD_COMPLETE=bash_source ascd)"     (or zsh_source, fish_source)
Exit codes:       0 done · 1 error · 2 usage · 3 tolerance not reached · 130 interrupted · 143 terminated
"""


class Commands(click.Group):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = cmd_name if cmd_name in ("fit", "path", "predict") else "commands"
        command: click.Command = getattr(import_module(f"ascd.cli.{module}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ascd", message="ascd %(version)s")
def app() -> None:
    """Sparse and regularised linear models by coordinate descent, with certificates."""
