# SPDX-License-Identifier: Apache-2.0
"""What all our commands have in common."""

import argparse

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions
from osc_lib.command import command

from nova_groupext_client import words
from nova_groupext_client.osc import progress

_INTERVAL_SECONDS = 0.5


class Command(command.Command):
    """A command of which errors are sentences for those who typed it."""

    @property
    def vrt(self):
        """The SDK's proxy."""
        return self.app.client_manager.vrt

    def run(self, parsed_args):
        try:
            return super().run(parsed_args)
        except sdk_exceptions.HttpException as exc:
            raise exceptions.CommandError(sentence(exc)) from exc

    def find(self, name_or_id):
        """Return the VrtGroup that was meant."""
        group = self.vrt.find_group(name_or_id, ignore_missing=True)
        if group is None:
            raise exceptions.CommandError(
                f'There is no group with the name or id "{name_or_id}".'
            )
        return group

    def wait(self, group):
        """Return a group when it is planned, with a line of progress.

        :raises: CommandError with the reasons, if there is no plan
        """
        with progress.Line(self.app.stderr) as line:
            found = self.vrt.wait_for_group(
                group, interval=_INTERVAL_SECONDS, callback=line.show
            )
        told = words.why_not(found)
        if told is not None:
            raise exceptions.CommandError(told)
        return found


class Lister(Command, command.Lister):
    pass


class ShowOne(Command, command.ShowOne):
    pass


class GroupCommand(Command):
    """A command for one group, which may wait for a planner's answer."""

    #: What is waited for, None if it is there at once.
    WAIT = 'the planners have answered'

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        add_group(parser)
        if self.WAIT:
            add_wait(parser, self.WAIT)
        return parser

    def take_action(self, parsed_args):
        group = self.find(parsed_args.group)
        self.act(group, parsed_args)
        if self.WAIT and parsed_args.wait:
            self.wait(group)


def add_group(parser):
    parser.add_argument(
        'group', metavar='<group>', help='VRT group (name or ID)'
    )


def add_wait(parser, until):
    parser.add_argument(
        '--wait', action='store_true', help=f'Wait until {until}'
    )


def add_keep_server(parser):
    parser.add_argument(
        '--keep-server',
        action='store_true',
        help='Servers may be left out of the group; they run on',
    )


def positive(text):
    """Return a number of the command line that is at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError('must be at least 1')
    return number


def sentence(exc):
    """Return what the cloud said, without the URL that was asked."""
    if not isinstance(exc, sdk_exceptions.HttpException) or not exc.details:
        return str(exc)
    # Nova tells of groups in JSON, and of what it does not know in HTML.
    kind = exc.response.headers.get('content-type', '')
    if exc.status_code == 404 and 'json' not in kind:
        return 'The compute service of this cloud has no VRT groups.'
    return f'{exc.details} (HTTP {exc.status_code})'
