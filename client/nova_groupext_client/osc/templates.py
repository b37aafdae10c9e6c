# SPDX-License-Identifier: Apache-2.0
"""Options and files of a command for a template and its parameters."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import functools
import pathlib
import typing

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions

from nova_groupext_client.osc import command

if typing.TYPE_CHECKING:
    # Types only: see the package.
    from nova_groupext_client.template import error_locations
    from nova_groupext_client.template import hot

VALUE, FILE = '--parameter', '--parameter-file'
_FORMS = {VALUE: '<name=value>', FILE: '<name=file>'}


class Parameter(typing.NamedTuple):
    """An option for a parameter, and its text ``name=...``."""

    option: str
    text: str


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """Add the parameter options; they collect Parameters."""
    for option, help_text in (
        (VALUE, 'Value of a parameter of the template (repeat for several)'),
        (
            FILE,
            'File with the value of a parameter, for secrets that must not '
            'appear in process lists (repeat for several); a trailing '
            'newline is removed',
        ),
    ):
        parser.add_argument(
            option,
            metavar=_FORMS[option],
            dest='parameters',
            action='append',
            type=functools.partial(Parameter, option),
            default=[],
            help=help_text,
        )


def load(
    file_name: str, parameters: Iterable[Parameter], name: str | None = None
) -> hot.Template:
    """Return the template in a file.

    :param name: of the group, by default the file's without its suffix
    :raises: CommandError; for an error in the template, with line and column
    """
    from nova_groupext_client import template

    path = pathlib.Path(file_name)
    try:
        return template.load(
            path.read_bytes(),
            dict(map(_parse_parameter, parameters)),
            path.stem if name is None else name,
            path.parent,
        )
    except OSError as exc:
        raise exceptions.CommandError(f'{file_name}: {exc.strerror}') from exc
    except template.TemplateError as exc:
        raise _error(file_name, exc) from exc


@contextlib.contextmanager
def errors_located(
    file_name: str,
    file: error_locations.LocatedFile,
    overridden: Collection[str] = (),
) -> Iterator[None]:
    """Convert errors in the block to CommandError.

    :param file: content of that file
    :param overridden: names of attributes that the command line has set
    :raises: CommandError; for a part of the file, with line and column
    """
    from nova_groupext_client.deploy import names
    from nova_groupext_client.template import errors

    try:
        yield
    except errors.TemplateError as exc:
        raise _error(file_name, exc) from exc
    except (names.UnknownName, sdk_exceptions.BadRequestException) as exc:
        message = getattr(exc, 'details', None) or str(exc)
        error = file.locate_error(message)
        is_overridden = any(
            f'$.vrt_group.{name}: ' in message for name in overridden
        )
        if error is not None and not is_overridden:
            raise _error(file_name, error) from exc
        raise exceptions.CommandError(command.error_message(exc)) from exc


def _error(file_name: str, exc: Exception) -> exceptions.CommandError:
    return exceptions.CommandError(f'{file_name}: {exc}')


def _parse_parameter(parameter: Parameter) -> tuple[str, str]:
    """Return the name and the value of a parameter."""
    option, text = parameter
    name, separator, value = text.partition('=')
    if not separator:
        raise exceptions.CommandError(
            f'{option} {text}: needs the form {_FORMS[option]}'
        )
    return name, value if option == VALUE else _read_parameter_file(value)


def _read_parameter_file(file_name: str) -> str:
    try:
        text = pathlib.Path(file_name).read_text(encoding='utf-8')
    except OSError as exc:
        raise exceptions.CommandError(f'{file_name}: {exc.strerror}') from exc
    except UnicodeDecodeError as exc:
        reason = f'{file_name}: is not UTF-8 text'
        raise exceptions.CommandError(reason) from exc
    return text.removesuffix('\n')
