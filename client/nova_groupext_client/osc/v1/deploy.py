# SPDX-License-Identifier: Apache-2.0
"""Command ``openstack vrt deploy``: create the servers of a template."""

import contextlib
import logging
import shlex

from osc_lib import exceptions

from nova_groupext_client.osc import command
from nova_groupext_client.osc import templates

_PARALLEL = 8
_COLUMNS = ('Member', 'State', 'Server ID', 'Fault')


class Deploy(command.Lister):
    """Hold capacity for all servers of a template, then create the servers.

    The template is a Heat template, perhaps with groups, policies and
    relationships. The command finally releases the holds of servers that it
    could not create. An interrupted command prints how to resume or undo.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'template', metavar='<template>', help='File with the template'
        )
        templates.add_parameters(parser)
        parser.add_argument(
            '--name',
            metavar='<name>',
            help='Name of the new group (default: the name of the file)',
        )
        command.add_expires_in(parser)
        parser.add_argument(
            '--parallel',
            metavar='<number>',
            type=command.positive,
            default=_PARALLEL,
            help=f'Number of concurrent requests (default: {_PARALLEL})',
        )
        _add_modes(parser)
        return parser

    def run(self, parsed_args):
        self._is_partial = False
        return super().run(parsed_args) or int(self._is_partial)

    def take_action(self, parsed_args):
        self.vrt  # noqa: B018 (adds conn.vrt to the connection)
        name_or_id = parsed_args.resume or parsed_args.emit_heat
        group = self.find(name_or_id) if name_or_id else None
        template = templates.load(
            parsed_args.template,
            parsed_args.parameters,
            # The template may refer to it as the name of the stack.
            group.name
            if parsed_args.name is None and group
            else parsed_args.name,
        )
        if parsed_args.emit_heat:
            return self._heat_template(group, template, parsed_args)
        if group is None and not parsed_args.dry_run:
            self._check_not_deployed(template, parsed_args)
        with self._deploying(parsed_args, template) as deployment:
            if parsed_args.dry_run:
                return self._plan_only(deployment, template, parsed_args)
            if parsed_args.resume:
                _check_topology(
                    group, deployment.topology, template, parsed_args
                )
                deployment.resume(group)
            else:
                deployment.describe(**_attributes(template, parsed_args))
            deployment.create()
            deployment.release()
        return self._result(deployment, _resume_command(parsed_args, template))

    def _check_not_deployed(self, template, parsed_args):
        """Refuse to create all servers again under the same names."""
        from nova_groupext_client.deploy import messages

        for group in self.vrt.groups(name=template.name):
            raise exceptions.CommandError(
                messages.exists(group, _resume_command(parsed_args, template))
            )

    def produce_output(self, parsed_args, columns, data):
        if not parsed_args.emit_heat:
            return super().produce_output(parsed_args, columns, data)
        self.app.stdout.write(data)
        return 0

    @contextlib.contextmanager
    def _deploying(self, parsed_args, template):
        """Yield a Deployment; convert what stops it to CommandError."""
        from nova_groupext_client.deploy import deployment
        from nova_groupext_client.deploy import messages

        running = None
        try:
            with (
                templates.errors_located(parsed_args.template, template),
                contextlib.ExitStack() as stack,
            ):
                running = self._deployment(parsed_args, template)
                stack.enter_context(running)
                yield running
        except KeyboardInterrupt:
            message = self._interruption_message(
                'Stopped.', running, parsed_args, template
            )
            raise exceptions.CommandError(message) from None
        except deployment.NotPlanned as exc:
            why_not = messages.not_held
            if parsed_args.dry_run:
                why_not = messages.does_not_fit
            raise exceptions.CommandError(why_not(exc.group)) from exc
        except deployment.ERRORS as exc:
            reason = f'{command.error_message(exc)}\nStopped.'
            message = self._interruption_message(
                reason, running, parsed_args, template
            )
            raise exceptions.CommandError(message) from exc

    @staticmethod
    def _interruption_message(reason, running, parsed_args, template):
        from nova_groupext_client.deploy import messages

        command_line = _resume_command(parsed_args, template)
        if running is not None and running.group is not None:
            return messages.stopped(
                reason, running.group, running.members.values(), command_line
            )
        if parsed_args.resume:
            command_line = (
                f'{command_line} --resume {shlex.quote(parsed_args.resume)}'
            )
            return f'{reason} To continue:  {command_line}'
        return f'{reason} Nothing was created.'

    def _deployment(self, parsed_args, template):
        from nova_groupext_client.deploy import deployment
        from nova_groupext_client.deploy import progress

        # urllib3 warns of each connection beyond its pool's size; warnings
        # would break up the progress bars.
        logging.getLogger('urllib3.connectionpool').setLevel(logging.ERROR)
        show = progress.Bars(self.app.stderr).show
        if parsed_args.dry_run:
            show = _show_nothing
        return deployment.Deployment(
            self._connection, template, show, parsed_args.parallel
        )

    @property
    def _connection(self):
        return self.app.client_manager.sdk_connection

    def _plan_only(self, deployment, template, parsed_args):
        from nova_groupext_client.deploy import messages
        from nova_groupext_client.deploy import what_if

        try:
            group = what_if.plan_only(
                deployment, **_attributes(template, parsed_args)
            )
        finally:
            if deployment.group is not None:
                self._print(messages.not_deleted(deployment.group))
        self._print(*messages.unmet_policies(group))
        return what_if.table(group)

    def _heat_template(self, group, template, parsed_args):
        from nova_groupext_client.deploy import messages
        from nova_groupext_client.deploy import names

        with templates.errors_located(parsed_args.template, template):
            topology = names.with_ids(
                template.definition, names.Names(self._connection)
            )
        _check_topology(group, topology, template, parsed_args)
        if group.status != 'HELD':
            raise exceptions.CommandError(
                f'Group {group.name} ({group.id}) is {group.status}: it has '
                'no held members for Heat to create.'
            )
        message = messages.not_held_for_heat(group)
        if message is not None:
            raise exceptions.CommandError(message)
        return (), template.with_hints(group.id)

    def _result(self, deployment, command_line):
        from nova_groupext_client.deploy import messages

        members = deployment.members.values()
        message = messages.partial(deployment.group, members, command_line)
        if message is not None:
            self._is_partial = True
            self._print(message)
        return _COLUMNS, [
            (each.path, str(each.state), each.server_id, each.fault)
            for each in members
        ]

    def _print(self, *lines):
        self.app.stderr.writelines(f'{line}\n' for line in lines)


def _add_modes(parser):
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        '--resume',
        metavar='<group>',
        help='Continue the deployment of a group (name or ID)',
    )
    mode.add_argument(
        '--dry-run',
        action='store_true',
        help='Only check whether the group fits; if not, show why and '
        'what would help',
    )
    mode.add_argument(
        '--emit-heat',
        metavar='<group>',
        help='Write the template for Heat with the hints of a held group '
        '(name or ID)',
    )


def _attributes(template, parsed_args):
    attributes = {
        'name': template.name,
        'description': template.description or None,
        'expires_in': parsed_args.expires_in,
    }
    return {n: value for n, value in attributes.items() if value is not None}


def _check_topology(group, topology, template, parsed_args):
    """Raise CommandError if the group has another topology."""
    if group.topology != topology:
        arguments = ['openstack', 'vrt', 'group', 'set', group.id, '--wait']
        arguments += [
            '--template',
            *_template_arguments(parsed_args, template),
        ]
        raise exceptions.CommandError(
            f'Group {group.name} ({group.id}) differs from this template '
            'with these parameters. To revise the group before you repeat '
            'the command:\n'
            f'  {shlex.join(arguments)}'
        )


def _resume_command(parsed_args, template):
    """Return the command line to resume, without --resume and secrets."""
    arguments = [
        'openstack',
        'vrt',
        'deploy',
        *_template_arguments(parsed_args, template),
    ]
    if parsed_args.name:
        arguments += ['--name', parsed_args.name]
    return shlex.join(arguments)


def _template_arguments(parsed_args, template):
    """Return the arguments for the template and its parameters."""
    arguments = [parsed_args.template]
    for option, text in parsed_args.parameters:
        name, _separator, _value = text.partition('=')
        is_shown = option == templates.FILE or name not in template.hidden
        arguments += [option, text if is_shown else f'{name}=...']
    return arguments


def _show_nothing(members):
    """Ignore progress: a dry run has none."""
