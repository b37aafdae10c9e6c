# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack vrt group`` that keep a group's definition."""

from osc_lib import exceptions
from osc_lib.cli import parseractions

from nova_groupext_client import sentences
from nova_groupext_client.osc import columns
from nova_groupext_client.osc import command
from nova_groupext_client.osc import definition
from nova_groupext_client.osc import progress


class _Action(command.GroupCommand):
    """A command with the option --generation."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        command.add_generation(parser)
        return parser


class HoldGroup(_Action):
    """Hold a group that was only planned, or try to plan it once more"""

    WAIT = 'the group is planned and held'

    def run_action(self, group, parsed_args):
        self.vrt.hold_group(group, parsed_args.generation)


class ReleaseGroup(_Action):
    """Release the capacity held for members without a server"""

    WAIT = None

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        _add_members(parser, 'Member to release')
        return parser

    def run_action(self, group, parsed_args):
        self.vrt.release_group(
            group, parsed_args.members, parsed_args.generation
        )


class ReplanGroup(_Action):
    """Choose hosts again for members without a server"""

    WAIT = 'the group is planned and held again'

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        _add_members(parser, 'Member that may move')
        return parser

    def run_action(self, group, parsed_args):
        self.vrt.replan_group(
            group, parsed_args.members, parsed_args.generation
        )


class ExtendGroup(_Action):
    """Extend the time for which a group's capacity is held"""

    WAIT = None

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        command.add_expires_in(
            parser,
            "Seconds from now until the holds expire (default: the group's "
            'own value)',
        )
        return parser

    def run_action(self, group, parsed_args):
        self.vrt.extend_group(
            group, parsed_args.expires_in, parsed_args.generation
        )


class AdoptGroup(_Action):
    """Turn existing servers into members of a group"""

    WAIT = 'the other members are planned and held around them'

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--server',
            metavar='<path>=<server>',
            dest='servers',
            action=parseractions.KeyValueAction,
            required=True,
            help='Member, such as data/db-0, and its server (name or ID; '
            'repeat option for several servers)',
        )
        return parser

    def run_action(self, group, parsed_args):
        compute = self.app.client_manager.compute
        servers = {
            path: compute.find_server(name, ignore_missing=False).id
            for path, name in parsed_args.servers.items()
        }
        self.vrt.adopt_servers(group, servers, parsed_args.generation)


class BootGroup(_Action):
    """Create the servers of all held members"""

    WAIT = 'the creation of all servers has been requested'

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--servers',
            metavar='<file>',
            help='File in JSON or YAML with the properties of the servers '
            'besides flavor and image, in the form of POST /servers, by '
            'path, by name of counted members, or for all by "default"; - '
            'for standard input',
        )
        return parser

    def run_action(self, group, parsed_args):
        servers = None
        if parsed_args.servers:
            servers = definition.load(parsed_args.servers)
        self.vrt.boot_group(group, servers, parsed_args.generation)

    def wait_for_plan(self, group):
        with progress.Line(self.app.stderr) as line:
            booted = self.vrt.wait_for_boot(group, callback=line.show)
        if booted.boot['fault'] or booted.boot['faults']:
            raise exceptions.CommandError(
                '\n'.join(sentences.format_boot(booted.boot))
            )
        return booted


class ProposeMoves(command.ShowOne):
    """Propose server moves that restore a group's policies"""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        command.add_group(parser)
        command.add_generation(parser)
        return parser

    def take_action(self, parsed_args):
        group = self.find(parsed_args.group)
        proposal = self.vrt.propose_moves(
            group, generation=parsed_args.generation
        )
        shown = {
            'status': proposal.status,
            'fewest': proposal.is_fewest,
            'moves': columns.Moves(proposal.moves),
        }
        return tuple(shown), tuple(shown.values())


def _add_members(parser, what):
    parser.add_argument(
        '--member',
        metavar='<path>',
        dest='members',
        action='append',
        help=f'{what} (repeat option for several members; default: all)',
    )
