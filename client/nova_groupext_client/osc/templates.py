# SPDX-License-Identifier: Apache-2.0
"""How a command is given a template and the values of its parameters."""

import contextlib
import pathlib

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions

from nova_groupext_client.osc import command


def add_parameters(parser):
    parser.add_argument(
        '--parameter',
        metavar='<name=value>',
        dest='parameters',
        action='append',
        default=[],
        help='Value of a parameter of the template (repeat for several)',
    )


def load(file_name, parameters, name=None):
    """Return the template.Template of a file.

    :param parameters: ``name=value`` of each that is given
    :param name: of the group, by default that of the file
    :raises: CommandError, with line and column
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
    """Tell what turns out to be wrong with a file by line and column.

    :param template: template.Template or template.Given of that file
    :param besides: names of a group's attributes that are not the file's
    :raises: CommandError
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


def _pair(text):
    name, is_one, value = text.partition('=')
    if not is_one:
        raise exceptions.CommandError(
            f'--parameter {text}: needs the form <name=value>'
        )
    return name, value
