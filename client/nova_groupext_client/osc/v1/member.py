# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack vrt member``: list, add and remove."""

import json

from osc_lib.cli import parseractions

from nova_groupext_client.osc import columns
from nova_groupext_client.osc import command

_LIST_COLUMNS = {'path': 'Path', 'status': 'Status', 'server_id': 'Server ID'}
_LONG_COLUMNS = {
    **_LIST_COLUMNS,
    'changes': 'Changes',
    'domains': 'Domains',
    'fault': 'Fault',
}
_FORMATTERS = {
    'changes': columns.Changes,
    'domains': columns.Domains,
    'fault': columns.Fault,
}

_POLICY_OPTIONS = [
    'strict',
    'weight',
    'max_per_domain',
    'max_skew',
    'min_domains',
    'failures',
    'min_members',
    'bandwidth',
]


class ListMember(command.Lister):
    """List the members of a group"""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        command.add_group(parser)
        parser.add_argument(
            '--status',
            metavar='<status>',
            type=str.upper,
            help='Only members with this status',
        )
        parser.add_argument(
            '--long', action='store_true', help='List additional fields'
        )
        command.add_page(
            *(parser, 'members'),
            ('<path>', 'Path of the last member of the previous list'),
        )
        return parser

    def take_action(self, parsed_args):
        members = self.vrt.members(
            self.find(parsed_args.group),
            max_items=parsed_args.limit,
            **command.given_options(parsed_args, 'status', 'marker'),
        )
        headings = _LONG_COLUMNS if parsed_args.long else _LIST_COLUMNS
        return columns.table(headings, members, **_FORMATTERS)


class AddMember(command.GroupCommand):
    """Add a member to a group, or more counted members"""

    WAIT = 'the member is planned and held'

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'path',
            metavar='<path>',
            help='Path of the new member, such as front/cache, or of '
            'existing counted members, such as front/web',
        )
        _add_description(parser)
        _add_counts(parser)
        _add_policies(parser)
        command.add_generation(parser)
        return parser

    def run_action(self, group, parsed_args):
        attributes = command.given_options(
            parsed_args,
            *('path', 'flavor', 'boot_from_volume', 'availability_zone'),
            *('count', 'min_count', 'max_count', 'max_surge', 'generation'),
        )
        if parsed_args.image is not None:
            images = self.app.client_manager.image
            found = images.find_image(parsed_args.image, ignore_missing=False)
            attributes['image'] = found.id
        if parsed_args.policies:
            attributes['policies'] = [
                {name: _value(text) for name, text in policy.items()}
                for policy in parsed_args.policies
            ]
        self.vrt.create_member(group, **attributes)


class RemoveMember(command.GroupCommand):
    """Remove a member from a group; of counted ones, the last or all"""

    WAIT = 'the group is planned without it'

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'path', metavar='<path>', help='Member, such as front/web-3'
        )
        command.add_keep_server(parser)
        command.add_generation(parser)
        return parser

    def run_action(self, group, parsed_args):
        self.vrt.delete_member(
            group,
            parsed_args.path,
            ignore_missing=False,
            keep_server=parsed_args.keep_server,
            generation=parsed_args.generation,
        )


def _add_description(parser):
    parser.add_argument(
        '--flavor', metavar='<flavor>', help='Flavor (name or ID)'
    )
    boot = parser.add_mutually_exclusive_group()
    boot.add_argument('--image', metavar='<image>', help='Image (name or ID)')
    boot.add_argument(
        '--boot-from-volume',
        action='store_true',
        default=None,
        help='Boot its server from a volume',
    )
    parser.add_argument(
        '--availability-zone',
        metavar='<zone>',
        help='Availability zone of the member',
    )


def _add_counts(parser):
    parser.add_argument(
        '--count',
        metavar='<number>',
        type=int,
        help='Number of equal members to add',
    )
    parser.add_argument(
        '--min-count',
        metavar='<number>',
        type=int,
        help='Minimum number of them that must be planned',
    )
    parser.add_argument(
        '--max-count',
        metavar='<number>',
        type=int,
        help='Number of members to which creates of servers may add',
    )
    parser.add_argument(
        '--max-surge',
        metavar='<number>',
        type=int,
        help='Number of successors that may exist besides their members',
    )


def _add_policies(parser):
    parser.add_argument(
        '--policy',
        metavar='type=<type>,scope=<scope>[,<option>=<value>]',
        dest='policies',
        action=parseractions.MultiKeyValueAction,
        required_keys=['type', 'scope'],
        optional_keys=_POLICY_OPTIONS,
        help='Policy on the added members, such as '
        'type=anti-affinity,scope=rack,strict=false (repeat option for '
        f'several policies; options: {", ".join(_POLICY_OPTIONS)})',
    )


def _value(text):
    """Return the value of a policy option: parsed JSON, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
