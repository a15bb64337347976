"""How the program ends: every error as one line on stderr, never a traceback."""

from __future__ import annotations

import io
import sys
from typing import Any, NoReturn, cast

import typer
from typer.core import TyperGroup

from prism_core.errors import PrismError

BAD_USE = 2
"""Exit code for a command that cannot be carried out as given."""

# Typer brings its own copy of click in newer versions and names no other class of click's usage errors.
_UsageError = cast(type[Exception], typer.BadParameter.__mro__[1])


class OneLineErrors(TyperGroup):
    """The top of the command tree."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command and leave the process with its exit code."""
        _print_what_the_terminal_cannot_show()
        try:
            code = super().main(*args, **{**options, "standalone_mode": False})
        except PrismError as error:
            _fail(str(error))
        except _UsageError as error:
            _fail(_usage(error))
        except OSError as error:
            _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except typer.Abort:
            _fail("aborted")
        sys.exit(code if isinstance(code, int) else 0)


def _print_what_the_terminal_cannot_show() -> None:
    """As question marks, where a terminal's encoding lacks characters of a memory."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _usage(error: Any) -> str:
    message = error.format_message().replace(": Value error, ", ": ")
    return f"{message} (see {error.ctx.command_path} --help)" if error.ctx is not None else message


def _fail(message: str) -> NoReturn:
    shown = "".join(letter if letter.isprintable() else "?" for letter in " ".join(message.split()))
    typer.echo(f"prism: {shown}", err=True)
    sys.exit(BAD_USE)
