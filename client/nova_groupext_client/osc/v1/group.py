# SPDX-License-Identifier: Apache-2.0
"""Commands ``openstack vrt group``: create, list, show, set and delete."""

import shutil

from osc_lib import exceptions

from nova_groupext_client.osc import columns
from nova_groupext_client.osc import command
from nova_groupext_client.osc import definition

_SHOWN = (
    'id',
    'name',
    'status',
    'description',
    'generation',
    'project_id',
    'user_id',
    'created_at',
    'updated_at',
    'expires_at',
    'members',
    'topology',
    'fault',
    'refusal',
    'violations',
    'drift',
    'revision',
    'boot',
    'events',
)
_ADMIN = ('cost', 'stats')
_FORMATTERS = {
    'members': columns.Members,
    'topology': columns.Tree,
    'refusal': columns.Refusal,
    'violations': columns.Policies,
    'drift': columns.Policies,
    'revision': columns.Revision,
    'boot': columns.Boot,
    'fault': columns.Fault,
    'events': columns.Events,
    'cost': columns.Tree,
    'stats': columns.Tree,
}
_LISTED = {
    'id': 'ID',
    'name': 'Name',
    'status': 'Status',
}
_LONG = {
    **_LISTED,
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
            help='New name (default: the one in the definition, or that of '
            'the template file)',
        )
        definition.add_options(parser)
        _add_attributes(parser)
        parser.add_argument(
            '--no-hold',
            dest='hold',
            action='store_false',
            default=None,
            help='Only ask what would be possible; nothing is kept',
        )
        parser.add_argument(
            '--client-token',
            metavar='<text>',
            help='Any text; the same one again, with the same definition, '
            'gives the group that is there already',
        )
        command.add_wait(parser, 'the group is planned, and held')
        return parser

    def take_action(self, parsed_args):
        with definition.reading(
            parsed_args, self.app.client_manager.sdk_connection
        ) as wanted:
            wanted = _without(wanted, 'generation', 'keep_server')
            wanted |= command.given(
                parsed_args,
                *('name', 'description', 'expires_in', 'hold', 'client_token'),
            )
            for needed in ('name', 'topology'):
                if needed not in wanted:
                    raise exceptions.CommandError(
                        f'The group needs a {needed}: give it one, or name a '
                        'file with --definition or --template.'
                    )
            group = self.vrt.create_group(**wanted)
        return _show(self.wait(group) if parsed_args.wait else group)


class ListGroup(command.Lister):
    """List groups"""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
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
            help='Only groups that were made or changed since (ISO 8601)',
        )
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
            ('<group>', 'ID of the last group of the previous list'),
        )
        return parser

    def take_action(self, parsed_args):
        query = command.given(
            parsed_args,
            *('name', 'status', 'member_status', 'server_id'),
            *('client_token', 'changes_since', 'project_id', 'marker'),
        )
        if parsed_args.sort:
            key, _colon, direction = parsed_args.sort.partition(':')
            query |= {'sort_key': key, 'sort_dir': direction or 'asc'}
        shown = dict(_LONG if parsed_args.long else _LISTED)
        if parsed_args.all_projects:
            query['all_projects'] = True
            shown['project_id'] = 'Project ID'
        groups = self.vrt.groups(
            details=parsed_args.long, max_items=parsed_args.limit, **query
        )
        return shown.values(), (
            [
                columns.cell(group, each, members=columns.Counts)
                for each in shown
            ]
            for group in groups
        )


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
            help='Write a picture of racks, hosts and members as well',
        )
        return parser

    def take_action(self, parsed_args):
        self._group = self.find(parsed_args.group)
        if parsed_args.draw:
            _draw(self._group, parsed_args.draw)
        return _show(self._group)

    def produce_output(self, parsed_args, *shown):
        if not parsed_args.map:
            return super().produce_output(parsed_args, *shown)
        from nova_groupext_client.drawing import text

        width = shutil.get_terminal_size().columns
        self.app.stdout.write(text.write(self._group, width))
        return 0


class SetGroup(command.GroupCommand):
    """Change a group; a new topology is planned around its servers"""

    WAIT = 'the revision is planned, and held'

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('--name', metavar='<name>', help='New name')
        source = definition.add_options(parser)
        source.add_argument(
            '--relax',
            metavar='<number>',
            type=int,
            help='Do what would help, according to the refusal of the group '
            'or of its revision: the first, second... of these',
        )
        _add_attributes(parser)
        command.add_keep_server(parser)
        command.add_generation(parser)
        return parser

    def act(self, group, parsed_args):
        if parsed_args.relax is not None:
            self._relax(group, parsed_args)
            return
        with definition.reading(
            parsed_args, self.app.client_manager.sdk_connection
        ) as wanted:
            wanted = _without(wanted, 'hold', 'client_token')
            if parsed_args.template:
                wanted.pop('name')
            wanted |= command.given(
                parsed_args, 'name', 'description', 'expires_in'
            )
            if not wanted:
                raise exceptions.CommandError('There is nothing to change.')
            wanted |= command.given(parsed_args, 'generation')
            if parsed_args.keep_server:
                wanted['keep_server'] = True
            self.vrt.update_group(group, **wanted)

    def _relax(self, group, parsed_args):
        given = command.given(parsed_args, 'name', 'description', 'expires_in')
        if given or parsed_args.keep_server:
            raise exceptions.CommandError(
                '--relax changes the topology, and nothing else.'
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
        return parser

    def take_action(self, parsed_args):
        failed = 0
        for each in parsed_args.groups:
            try:
                self.vrt.delete_group(self.find(each), ignore_missing=False)
            except Exception as exc:
                failed += 1
                self.log.error('%s: %s', each, command.sentence(exc))
        if failed:
            raise exceptions.CommandError(
                f'{failed} of {len(parsed_args.groups)} groups were not '
                'deleted.'
            )


def _add_attributes(parser):
    parser.add_argument(
        '--description', metavar='<text>', help='Any text about the group'
    )
    parser.add_argument(
        '--expires-in',
        metavar='<seconds>',
        type=int,
        help='How long places are kept for members that are no servers',
    )


def _without(wanted, *names):
    """Drop attributes of the other command: both take the same file."""
    return {name: each for name, each in wanted.items() if name not in names}


def _show(group):
    # The API shows cost and stats of the plan only to admins.
    names = _SHOWN + _ADMIN * (group.stats is not None)
    return names, [columns.cell(group, name, **_FORMATTERS) for name in names]


def _draw(group, file_name):
    from nova_groupext_client.drawing import picture

    try:
        with open(file_name, 'w', encoding='utf-8') as file:
            file.write(picture.write(group))
    except OSError as exc:
        raise exceptions.CommandError(f'{file_name}: {exc.strerror}') from exc
