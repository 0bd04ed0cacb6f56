"""Where commands write: nothing is overwritten and no folder is made without a word."""

from __future__ import annotations

from collections.abc import Callable
from os.path import realpath
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def folder_option(default: str) -> Callable[[Command], Command]:
    """The option --out of commands that write a folder."""
    kind = click.Path(file_okay=False, path_type=Path)
    return click.option("--out", type=kind, default=Path(default), show_default=True, help="The folder to write to.")


def file_options(default: Path | None, help: str) -> Callable[[Command], Command]:
    """The options --out and --force of commands that write one file."""

    def add(command: Command) -> Command:
        kind = click.Path(dir_okay=False, path_type=Path)
        out = click.option("--out", type=kind, default=default, show_default=default is not None, help=help)
        force = click.option("--force", is_flag=True, help="Overwrite a file that is there.")
        return out(force(command))

    return add


def check_file(path: Path, force: bool, *read: Path) -> None:
    """Refuse to overwrite a file, or to make its folder, before any work is done; never what is ``read``."""
    if realpath(path) in map(realpath, read):
        raise click.UsageError(f"--out {path} is a file that is read: it would be lost; name another file")
    if path.exists() and not path.is_file():
        raise click.UsageError(f"--out {path} is not a file that can be replaced; name another")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"no such folder: {path.parent}; create it, or name another file with --out")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists: --force overwrites it, --out names another file")


def announce_folder(path: Path, option: str = " with --out") -> bool:
    """Refuse a folder in a place that does not exist; returns whether the folder is new, to be told when it is made."""
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"no such folder: {path.parent}; create it, or name another place{option}")
    return not path.exists()


def wrote(files: list[Path], folder: Path, is_new: bool) -> str:
    """What was written, in lines."""
    return "\n".join([f"created the folder {folder}"] * is_new + [f"wrote {path}" for path in files])
