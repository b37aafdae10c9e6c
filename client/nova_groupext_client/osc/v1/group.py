# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack vrt group``: create, list, show, set and delete."""

import shutil

from osc_lib import exceptions

from nova_groupext_client.osc import columns
from nova_groupext_client.osc import command
from nova_groupext_client.osc import definition
from nova_groupext_client.osc.v1 import group_output

_LIST_COLUMNS = {
    'id': 'ID',
    'name': 'Name',
    'status': 'Status',
}
_LONG_COLUMNS = {
    **_LIST_COLUMNS,
    'members': 'Members',
    'expires_at': 'Expires At',
    'description': 'Description',
}


class CreateGroup(command.ShowOne):
    """Create a group of servers and hold capacity for them"""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'name',
            metavar='<name>',
            nargs='?',
            help='Name of the group (default: the name in the definition or '
            'of the template file)',
        )
        definition.add_options(parser)
        _add_attributes(parser)
        parser.add_argument(
            '--no-hold',
            dest='hold',
            action='store_false',
            default=None,
            help='Plan the group without holding capacity',
        )
        parser.add_argument(
            '--client-token',
            metavar='<text>',
            help='Any text; repeating the command with the same text and '
            'definition returns the existing group',
        )
        command.add_wait(parser, 'the group is planned and held')
        return parser

    def take_action(self, parsed_args):
        with definition.read_attributes(
            parsed_args, self.app.client_manager.sdk_connection
        ) as attributes:
            attributes = _drop(attributes, 'generation', 'keep_server')
            attributes |= command.given_options(
                parsed_args,
                *('name', 'description', 'expires_in', 'hold', 'client_token'),
            )
            for required in ('name', 'topology'):
                if required not in attributes:
                    raise exceptions.CommandError(
                        f'The group needs a {required}: give it one, or name '
                        'a file with --definition or --template.'
                    )
            group = self.vrt.create_group(**attributes)
        return group_output.show(
            self.wait_for_plan(group) if parsed_args.wait else group
        )


class ListGroup(command.Lister):
    """List groups"""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        _add_filters(parser)
        _add_projects(parser)
        parser.add_argument(
            '--long', action='store_true', help='List additional fields'
        )
        parser.add_argument(
            '--sort',
            metavar='<key>[:<direction>]',
            help='Sort by created_at, updated_at, name or status, in the '
            'direction asc or desc (default: created_at:asc)',
        )
        command.add_page(
            *(parser, 'groups'),
            (
                '<group>',
                'ID of the last group of the previous list; with --sort, '
                'that group must still exist',
            ),
        )
        return parser

    def take_action(self, parsed_args):
        query = command.given_options(
            parsed_args,
            *('name', 'status', 'member_status', 'server_id'),
            *('client_token', 'changes_since', 'project_id', 'marker'),
        )
        if parsed_args.sort:
            key, _colon, direction = parsed_args.sort.partition(':')
            query |= {'sort_key': key, 'sort_dir': direction or 'asc'}
        headings = dict(_LONG_COLUMNS if parsed_args.long else _LIST_COLUMNS)
        if parsed_args.all_projects:
            query['all_projects'] = True
            headings['project_id'] = 'Project ID'
        groups = self.vrt.groups(
            details=parsed_args.long, max_items=parsed_args.limit, **query
        )
        return columns.table(headings, groups, members=columns.Counts)


class ShowGroup(command.ShowOne):
    """Show a group and the states of its members"""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        command.add_group(parser)
        parser.add_argument(
            '--map',
            action='store_true',
            help='Show a map of racks, hosts and members instead of a table',
        )
        parser.add_argument(
            '--draw',
            metavar='<file.svg>',
            help='Also write a picture of racks, hosts and members',
        )
        return parser

    def take_action(self, parsed_args):
        self._group = self.find(parsed_args.group)
        if parsed_args.draw:
            group_output.draw(self._group, parsed_args.draw)
        return group_output.show(self._group)

    def produce_output(self, parsed_args, *shown_columns):
        if not parsed_args.map:
            return super().produce_output(parsed_args, *shown_columns)
        from nova_groupext_client.drawing import text

        width = shutil.get_terminal_size().columns
        self.app.stdout.write(text.write(self._group, width))
        return 0


class SetGroup(command.GroupCommand):
    """Change a group; a new topology is planned around its servers"""

    WAIT = 'the revision is planned and held'

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('--name', metavar='<name>', help='New name')
        source = definition.add_options(parser)
        source.add_argument(
            '--relax',
            metavar='<number>',
            type=int,
            help='Apply a change that the refusal of the group or of its '
            'revision proposes, by its number',
        )
        _add_attributes(parser)
        command.add_keep_server(parser)
        command.add_generation(parser)
        return parser

    def run_action(self, group, parsed_args):
        if parsed_args.relax is not None:
            self._relax(group, parsed_args)
            return
        with definition.read_attributes(
            parsed_args, self.app.client_manager.sdk_connection, group.name
        ) as attributes:
            attributes = _drop(attributes, 'hold', 'client_token', 'boot')
            if parsed_args.template:
                attributes.pop('name')
            attributes |= command.given_options(
                parsed_args, 'name', 'description', 'expires_in'
            )
            if not attributes:
                raise exceptions.CommandError('There is nothing to change.')
            attributes |= command.given_options(parsed_args, 'generation')
            if parsed_args.keep_server:
                attributes['keep_server'] = True
            # Nothing else is planned; the last revision may have no plan.
            parsed_args.wait &= 'topology' in attributes
            self.vrt.update_group(group, **attributes)

    def _relax(self, group, parsed_args):
        options = command.given_options(
            parsed_args, 'name', 'description', 'expires_in'
        )
        if options or parsed_args.keep_server:
            raise exceptions.CommandError(
                '--relax changes only the topology; change other attributes '
                'in another command.'
            )
        self.vrt.relax_group(group, parsed_args.relax, parsed_args.generation)


class DeleteGroup(command.Command):
    """Delete groups and release their holds; their servers keep running"""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'groups',
            metavar='<group>',
            nargs='+',
            help='VRT groups to delete (name or ID)',
        )
        command.add_generation(parser)
        return parser

    def take_action(self, parsed_args):
        if parsed_args.generation and len(parsed_args.groups) > 1:
            raise exceptions.CommandError('--generation is for one group.')
        failed = 0
        for each in parsed_args.groups:
            try:
                self.vrt.delete_group(
                    self.find(each),
                    ignore_missing=False,
                    generation=parsed_args.generation,
                )
            except Exception as exc:
                failed += 1
                self.log.error('%s: %s', each, command.error_message(exc))
        if failed:
            raise exceptions.CommandError(
                f'{failed} of {len(parsed_args.groups)} groups were not '
                'deleted.'
            )


def _add_attributes(parser):
    parser.add_argument(
        '--description', metavar='<text>', help='Any text about the group'
    )
    command.add_expires_in(parser)


def _drop(attributes, *names):
    """Drop attributes of the other command: both take the same file."""
    return {
        name: each for name, each in attributes.items() if name not in names
    }


def _add_filters(parser):
    parser.add_argument(
        '--name', metavar='<name>', help='Only groups with this name'
    )
    parser.add_argument(
        '--status',
        metavar='<status>',
        type=str.upper,
        help='Only groups with this status',
    )
    parser.add_argument(
        '--member-status',
        metavar='<status>',
        type=str.upper,
        help='Only groups with a member that has this status',
    )
    parser.add_argument(
        '--server',
        dest='server_id',
        metavar='<server-id>',
        help='Only the group that this server is in (ID)',
    )
    parser.add_argument(
        '--client-token',
        metavar='<text>',
        help='Only the group that was created with this token',
    )
    parser.add_argument(
        '--changes-since',
        metavar='<time>',
        help='Only groups created or changed since this time (ISO 8601)',
    )


def _add_projects(parser):
    parser.add_argument(
        '--all-projects',
        action='store_true',
        help='List the groups of all projects (admin only)',
    )
    parser.add_argument(
        '--project',
        dest='project_id',
        metavar='<project-id>',
        help='List the groups of this project (ID; admin only)',
    )
