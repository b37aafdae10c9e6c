# SPDX-License-Identifier: Apache-2.0
"""Base classes and common options of the ``openstack vrt`` commands."""

import argparse

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions
from osc_lib.command import command

from nova_groupext_client import sentences
from nova_groupext_client.osc import progress

_INTERVAL_SECONDS = 0.5


class Command(command.Command):
    """A command that reports HTTP errors of the cloud as sentences."""

    @property
    def vrt(self):
        """SDK proxy of VRT groups."""
        return self.app.client_manager.vrt

    def run(self, parsed_args):
        try:
            return super().run(parsed_args)
        except sdk_exceptions.HttpException as exc:
            raise exceptions.CommandError(error_message(exc)) from exc

    def find(self, name_or_id):
        """Return the VrtGroup with a name or id, or raise CommandError."""
        group = self.vrt.find_group(name_or_id, ignore_missing=True)
        if group is None:
            raise exceptions.CommandError(
                f'There is no group with the name or id "{name_or_id}".'
            )
        return group

    def wait_for_plan(self, group):
        """Wait for the plan of a group, show progress, return the VrtGroup.

        :raises: CommandError with the reasons, if there is no plan
        """
        with progress.Line(self.app.stderr) as line:
            planned = self.vrt.wait_for_group(
                group, interval=_INTERVAL_SECONDS, callback=line.show
            )
        reasons = sentences.explain_failure(planned)
        if reasons is not None:
            raise exceptions.CommandError(reasons)
        return planned


class Lister(Command, command.Lister):
    pass


class ShowOne(Command, command.ShowOne):
    pass


class GroupCommand(Command):
    """A command that acts on one group and can wait for the result."""

    #: Condition that --wait waits for; None for a command without --wait.
    WAIT: str | None = 'planning has ended'

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        add_group(parser)
        if self.WAIT:
            add_wait(parser, self.WAIT)
        return parser

    def take_action(self, parsed_args):
        group = self.find(parsed_args.group)
        self.run_action(group, parsed_args)
        if self.WAIT and parsed_args.wait:
            self.wait_for_plan(group)


def add_group(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'group', metavar='<group>', help='VRT group (name or ID)'
    )


def add_wait(parser: argparse.ArgumentParser, until: str) -> None:
    parser.add_argument(
        '--wait', action='store_true', help=f'Wait until {until}'
    )


def add_expires_in(
    parser: argparse.ArgumentParser,
    help_text: str = 'Seconds for which members without servers are held',
) -> None:
    parser.add_argument(
        '--expires-in', metavar='<seconds>', type=int, help=help_text
    )


def add_keep_server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--keep-server',
        action='store_true',
        help='Allow the removal of members with servers; the servers keep '
        'running',
    )


def add_page(
    parser: argparse.ArgumentParser, what: str, marker: tuple[str, str]
) -> None:
    """Add the paging options --limit and --marker.

    :param what: plural of the listed things
    :param marker: (metavar, help) of --marker
    """
    parser.add_argument(
        '--limit',
        metavar='<number>',
        type=positive,
        help=f'Maximum number of {what} to display',
    )
    metavar, help_text = marker
    parser.add_argument('--marker', metavar=metavar, help=help_text)


def add_generation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--generation',
        metavar='<number>',
        type=positive,
        help='Generation of the group that was last seen; the command fails '
        'if it has changed',
    )


def given_options(
    parsed_args: argparse.Namespace, *names: str
) -> dict[str, object]:
    """Return {name: value} of the options that are not None."""
    values = {name: getattr(parsed_args, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def positive(text: str) -> int:
    """Return an option's text as an integer of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError('must be at least 1')
    return number


def error_message(exc: Exception) -> str:
    """Return the message of an error, without the URL of the request."""
    if not isinstance(exc, sdk_exceptions.HttpException) or not exc.details:
        return str(exc)
    # Nova answers in JSON about groups, and in HTML about unknown URLs.
    kind = exc.response.headers.get('content-type', '')
    if exc.status_code == 404 and 'json' not in kind:
        return 'The compute service of this cloud has no VRT groups.'
    return f'{exc.details} (HTTP {exc.status_code})'
