"""The command ``ascd`` and its help."""

from __future__ import annotations

import click

from ascd.cli.commands import convert, demo, info, reproduce
from ascd.cli.fit import fit
from ascd.cli.path import path
from ascd.cli.predict import predict

EPILOG = """\b
Tab completion:   eval "$(_ASCD_COMPLETE=bash_source ascd)"     (or zsh_source, fish_source)
Exit codes:       0 done · 1 error · 2 usage · 3 tolerance not reached · 130 interrupted · 143 terminated
"""


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ascd", message="ascd %(version)s")
def app() -> None:
    """Sparse and regularised linear models by coordinate descent, with certificates."""


for command in (convert, demo, fit, info, path, predict, reproduce):
    app.add_command(command)
