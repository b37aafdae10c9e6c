# SPDX-License-Identifier: Apache-2.0
"""Options and files of a command for a template and its parameters."""

import contextlib
import pathlib

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions

from nova_groupext_client.osc import command

VALUE, FILE = '--parameter', '--parameter-file'


def add_parameters(parser):
    """Add the parameter options; they collect [(option, text)]."""
    parser.add_argument(
        VALUE,
        metavar='<name=value>',
        dest='parameters',
        action='append',
        type=lambda text: (VALUE, text),
        default=[],
        help='Value of a parameter of the template (repeat for several)',
    )
    parser.add_argument(
        FILE,
        metavar='<name=file>',
        dest='parameters',
        action='append',
        type=lambda text: (FILE, text),
        default=[],
        help='File with the value of a parameter, for one that nobody is to '
        'see among the commands that run (repeat for several); a newline at '
        'its end is no part of it',
    )


def load(file_name, parameters, name=None):
    """Return the template.Template of a file.

    :param parameters: [(option, text)] of the options of add_parameters()
    :param name: of the group, by default the file's without its suffix
    :raises: CommandError; for an error in the template, with line and column
    """
    from nova_groupext_client import template

    path = pathlib.Path(file_name)
    try:
        return template.load(
            path.read_bytes(),
            dict(map(_pair, parameters)),
            path.stem if name is None else name,
            path.parent,
        )
    except OSError as exc:
        raise exceptions.CommandError(f'{file_name}: {exc.strerror}') from exc
    except template.TemplateError as exc:
        raise _error(file_name, exc) from exc


@contextlib.contextmanager
def located(file_name, template, besides=()):
    """Convert errors in the block to CommandError.

    :param template: template.Template or template.Given of that file
    :param besides: names of attributes that the command line has set
    :raises: CommandError; for a part of the file, with line and column
    """
    from nova_groupext_client.deploy import names
    from nova_groupext_client.template import errors

    try:
        yield
    except errors.TemplateError as exc:
        raise _error(file_name, exc) from exc
    except (names.UnknownName, sdk_exceptions.BadRequestException) as exc:
        told = getattr(exc, 'details', None) or str(exc)
        error = template.located(told)
        is_beside = any(f'$.vrt_group.{name}: ' in told for name in besides)
        if error is not None and not is_beside:
            raise _error(file_name, error) from exc
        raise exceptions.CommandError(command.sentence(exc)) from exc


def _error(file_name, exc):
    return exceptions.CommandError(f'{file_name}: {exc}')


def _pair(given):
    """Return (name, value) of a parameter."""
    option, text = given
    name, is_one, value = text.partition('=')
    if not is_one:
        form = '<name=value>' if option == VALUE else '<name=file>'
        raise exceptions.CommandError(
            f'{option} {text}: needs the form {form}'
        )
    return name, value if option == VALUE else _content(value)


def _content(file_name):
    try:
        text = pathlib.Path(file_name).read_text(encoding='utf-8')
    except OSError as exc:
        raise exceptions.CommandError(f'{file_name}: {exc.strerror}') from exc
    except UnicodeDecodeError as exc:
        reason = f'{file_name}: is no text in UTF-8'
        raise exceptions.CommandError(reason) from exc
    return text.removesuffix('\n')
