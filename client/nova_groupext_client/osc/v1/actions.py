# SPDX-License-Identifier: Apache-2.0
"""``openstack vrt group``: what is done to a group as it is."""

from osc_lib.cli import parseractions

from nova_groupext_client.osc import command


class HoldGroup(command.GroupCommand):
    """Keep what was only planned, or try to plan a group once more"""

    WAIT = 'the group is planned, and held'

    def act(self, group, parsed_args):
        self.vrt.hold_group(group)


class ReleaseGroup(command.GroupCommand):
    """Give up places of members that are no servers"""

    WAIT = None

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        _add_members(parser, 'Member to give up')
        return parser

    def act(self, group, parsed_args):
        self.vrt.release_group(group, parsed_args.members)


class ReplanGroup(command.GroupCommand):
    """Decide again where members are to be that are no servers"""

    WAIT = 'the decision is made, and held'

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        _add_members(parser, 'Member that may move')
        return parser

    def act(self, group, parsed_args):
        self.vrt.replan_group(group, parsed_args.members)


class ExtendGroup(command.GroupCommand):
    """Keep what is held for longer"""

    WAIT = None

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--expires-in',
            metavar='<seconds>',
            type=int,
            help="How long from now (default: the group's own)",
        )
        return parser

    def act(self, group, parsed_args):
        self.vrt.extend_group(group, parsed_args.expires_in)


class AdoptGroup(command.GroupCommand):
    """Let servers that run already become members of a group"""

    WAIT = 'the rest is planned, and held, around them'

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

    def act(self, group, parsed_args):
        compute = self.app.client_manager.compute
        servers = {
            path: compute.find_server(name, ignore_missing=False).id
            for path, name in parsed_args.servers.items()
        }
        self.vrt.adopt_servers(group, servers)


class ProposeMoves(command.GroupCommand):
    """Ask which servers to move for a group's policies to hold again"""

    WAIT = None

    def take_action(self, parsed_args):
        group = self.vrt.find_group(parsed_args.group, ignore_missing=False)
        proposal = self.vrt.propose_moves(group)
        told = {
            'status': proposal.status,
            'fewest': proposal.is_fewest,
            'moves': '\n'.join(map(_move, proposal.moves)),
        }
        return tuple(told), tuple(told.values())


def _move(move):
    """Say where a server is to go."""
    where = move.get('host') or ', '.join(
        f'{level} {domain}' for level, domain in move['domains'].items()
    )
    return f'{move["path"]} ({move["server_id"]}) to {where}'


def _add_members(parser, what):
    parser.add_argument(
        '--member',
        metavar='<path>',
        dest='members',
        action='append',
        help=f'{what} (repeat option for several members; default: all)',
    )
