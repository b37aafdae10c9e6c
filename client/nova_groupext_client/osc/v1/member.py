# SPDX-License-Identifier: Apache-2.0
"""``openstack vrt member``"""

from nova_groupext_client.osc import columns
from nova_groupext_client.osc import command

_LISTED = {'path': 'Path', 'status': 'Status', 'server_id': 'Server ID'}
_LONG = {**_LISTED, 'fault': 'Fault'}


class ListMember(command.Lister):
    """List the members of a group"""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        command.add_group(parser)
        parser.add_argument(
            '--long', action='store_true', help='List additional fields'
        )
        return parser

    def take_action(self, parsed_args):
        members = list(self.vrt.members(self.find(parsed_args.group)))
        shown = dict(_LONG if parsed_args.long else _LISTED)
        rows = [[getattr(each, name) for name in shown] for each in members]
        titles = list(shown.values())
        if parsed_args.long:
            titles.insert(3, 'Domains')
            for row, member in zip(rows, members, strict=True):
                row.insert(3, columns.Domains(member.domains))
        return titles, rows


class AddMember(command.GroupCommand):
    """Add a member to a group, or some more of those that are counted"""

    WAIT = 'the member is planned, and held'

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'path',
            metavar='<path>',
            help='Where it is to be, such as front/cache, or the path of '
            'counted members, such as front/web',
        )
        parser.add_argument(
            '--flavor', metavar='<flavor>', help='Flavor (name or ID)'
        )
        boot = parser.add_mutually_exclusive_group()
        boot.add_argument(
            '--image', metavar='<image>', help='Image (name or ID)'
        )
        boot.add_argument(
            '--boot-from-volume',
            action='store_true',
            default=None,
            help='Its server boots from a volume',
        )
        parser.add_argument(
            '--availability-zone',
            metavar='<zone>',
            help='The zone that it has to be in',
        )
        parser.add_argument(
            '--count',
            metavar='<number>',
            type=int,
            help='How many equal ones are added',
        )
        parser.add_argument(
            '--min-count',
            metavar='<number>',
            type=int,
            help='How many of them are enough',
        )
        return parser

    def act(self, group, parsed_args):
        wanted = {
            'path': parsed_args.path,
            'flavor': parsed_args.flavor,
            'image': self._image_id(parsed_args.image),
            'boot_from_volume': parsed_args.boot_from_volume,
            'availability_zone': parsed_args.availability_zone,
            'count': parsed_args.count,
            'min_count': parsed_args.min_count,
        }
        self.vrt.create_member(
            group, **{k: it for k, it in wanted.items() if it is not None}
        )

    def _image_id(self, name_or_id):
        if name_or_id is None:
            return None
        images = self.app.client_manager.image
        return images.find_image(name_or_id, ignore_missing=False).id


class RemoveMember(command.GroupCommand):
    """Remove a member from a group: of counted ones the last, or all"""

    WAIT = 'the group is planned without it'

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'path', metavar='<path>', help='Member, such as front/web-3'
        )
        command.add_keep_server(parser)
        return parser

    def act(self, group, parsed_args):
        self.vrt.delete_member(
            group,
            parsed_args.path,
            ignore_missing=False,
            keep_server=parsed_args.keep_server,
        )
