# SPDX-License-Identifier: Apache-2.0
"""Options and files that define a group for a command."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from collections.abc import Iterator
import contextlib
import pathlib
import sys
import typing

from osc_lib import exceptions

from nova_groupext_client.osc import templates

if typing.TYPE_CHECKING:
    # Types only: see the package.
    from openstack import connection

    from nova_groupext_client import api_types

# Attributes that the command line overrides in the file.
_OVERRIDING_OPTIONS = ('name', 'description', 'expires_in')


def add_options(
    parser: argparse.ArgumentParser,
) -> argparse._MutuallyExclusiveGroup:
    """Add --definition, --template and the template's parameters.

    :returns: the group of the first two
    """
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        '--definition',
        metavar='<file>',
        help='File with the topology in JSON or YAML in the form of the API, '
        'alone or with name and other attributes; - for standard input',
    )
    source.add_argument(
        '--template',
        metavar='<file>',
        help='File with a Heat template, optionally with groups, policies '
        'and relationships; its servers are the members',
    )
    templates.add_parameters(parser)
    return source


@contextlib.contextmanager
def read_attributes(
    parsed_args: argparse.Namespace,
    conn: connection.Connection,
    present_name: str | None = None,
) -> Iterator[api_types.Attributes]:
    """Yield the attributes of a VrtGroup that a file defines, perhaps none.

    A 400 of the cloud in the block is reported by line and column of the
    file where its message names a part of the file.

    :param present_name: name of the group that is changed: a template may
        refer to it as the name of the stack
    :raises: CommandError for a file that cannot be read or is invalid
    """
    if parsed_args.template is None:
        for option, _text in parsed_args.parameters:
            raise exceptions.CommandError(f'{option} requires --template.')
        overridden = [
            n
            for n in _OVERRIDING_OPTIONS
            if getattr(parsed_args, n) is not None
        ]
        read = _read_definition(parsed_args.definition, overridden)
    else:
        read = _read_template(
            parsed_args, conn, parsed_args.name or present_name
        )
    with read as attributes:
        yield attributes


def load(file_name: str) -> api_types.Object:
    """Return the mapping in a JSON or YAML file.

    :raises: CommandError; for an error in the content, with line and column
    """
    from nova_groupext_client import template

    try:
        return template.load_values(_read(file_name))
    except template.TemplateError as exc:
        raise exceptions.CommandError(f'{file_name}: {exc}') from exc


@contextlib.contextmanager
def _read_definition(
    file_name: str | None, overridden: Collection[str]
) -> Iterator[api_types.Attributes]:
    if file_name is None:
        yield {}
        return
    from nova_groupext_client import template

    try:
        body = template.load_definition(_read(file_name))
    except template.TemplateError as exc:
        raise exceptions.CommandError(f'{file_name}: {exc}') from exc
    with templates.errors_located(file_name, body, overridden):
        yield {**body.definition}


@contextlib.contextmanager
def _read_template(
    parsed_args: argparse.Namespace,
    conn: connection.Connection,
    name: str | None,
) -> Iterator[api_types.Attributes]:
    from nova_groupext_client.deploy import names

    template = templates.load(
        parsed_args.template, parsed_args.parameters, name
    )
    with templates.errors_located(parsed_args.template, template):
        topology = names.with_ids(template.definition, names.Names(conn))
        attributes: api_types.Attributes = {
            'name': template.name,
            'topology': topology,
        }
        if template.description:
            attributes['description'] = template.description
        yield attributes


def _read(name: str) -> bytes:
    try:
        if name == '-':
            return sys.stdin.buffer.read()
        return pathlib.Path(name).read_bytes()
    except OSError as exc:
        raise exceptions.CommandError(f'{name}: {exc.strerror}') from exc
