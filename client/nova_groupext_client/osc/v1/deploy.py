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
        parser.add_argument(
            '--expires-in',
            metavar='<seconds>',
            type=int,
            help='How long places are kept for members that are no servers',
        )
        parser.add_argument(
            '--parallel',
            metavar='<number>',
            type=command.positive,
            default=_PARALLEL,
            help=f'Requests at a time (default: {_PARALLEL})',
        )
        instead = parser.add_mutually_exclusive_group()
        instead.add_argument(
            '--resume',
            metavar='<group>',
            help='Go on with a group that was begun (name or ID)',
        )
        instead.add_argument(
            '--dry-run',
            action='store_true',
            help='Only ask whether it fits; if not, why, and what would help',
        )
        instead.add_argument(
            '--emit-heat',
            metavar='<group>',
            help='Write the template for Heat, with the hints of a group that '
            'is held (name or ID)',
        )
        return parser

    def run(self, parsed_args):
        self._is_partial = False
        return super().run(parsed_args) or int(self._is_partial)

    def take_action(self, parsed_args):
        self.vrt  # noqa: B018 (adds conn.vrt to the connection)
        known = parsed_args.resume or parsed_args.emit_heat
        group = self.find(known) if known else None
        template = templates.load(
            parsed_args.template,
            parsed_args.parameters,
            # The template may refer to it as the name of the stack.
            group.name
            if parsed_args.name is None and group
            else parsed_args.name,
        )
        if parsed_args.emit_heat:
            return self._emit(group, template, parsed_args)
        with self._deploying(parsed_args, template) as deployment:
            if parsed_args.dry_run:
                return self._ask(deployment, template, parsed_args)
            if parsed_args.resume:
                _check_same(group, deployment.topology, template, parsed_args)
                deployment.resume(group)
            else:
                deployment.describe(**_attributes(template, parsed_args))
            deployment.create()
            deployment.release()
        return self._outcome(deployment, _again(parsed_args, template))

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

        made = None
        try:
            with (
                templates.located(parsed_args.template, template),
                contextlib.ExitStack() as stack,
            ):
                made = self._deployment(parsed_args, template)
                stack.enter_context(made)
                yield made
        except KeyboardInterrupt:
            told = self._stopped('Stopped.', made, parsed_args, template)
            raise exceptions.CommandError(told) from None
        except deployment.NotPlanned as exc:
            why_not = messages.not_held
            if parsed_args.dry_run:
                why_not = messages.does_not_fit
            raise exceptions.CommandError(why_not(exc.group)) from exc
        except deployment.FAULTS as exc:
            why = f'{command.sentence(exc)}\nStopped.'
            told = self._stopped(why, made, parsed_args, template)
            raise exceptions.CommandError(told) from exc

    @staticmethod
    def _stopped(why, made, parsed_args, template):
        from nova_groupext_client.deploy import messages

        again = _again(parsed_args, template)
        if made is not None and made.group is not None:
            return messages.stopped(why, made, again)
        if parsed_args.resume:
            again = f'{again} --resume {shlex.quote(parsed_args.resume)}'
            return f'{why} To go on:  {again}'
        return f'{why} Nothing was made.'

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

    def _ask(self, deployment, template, parsed_args):
        from nova_groupext_client.deploy import messages
        from nova_groupext_client.deploy import what_if

        try:
            group = what_if.ask(
                deployment, **_attributes(template, parsed_args)
            )
        finally:
            if deployment.group is not None:
                self._say(messages.not_deleted(deployment.group))
        self._say(*messages.unmet(group))
        return what_if.table(group)

    def _emit(self, group, template, parsed_args):
        from nova_groupext_client.deploy import messages
        from nova_groupext_client.deploy import names

        with templates.located(parsed_args.template, template):
            topology = names.with_ids(
                template.definition, names.Names(self._connection)
            )
        _check_same(group, topology, template, parsed_args)
        if group.status != 'HELD':
            raise exceptions.CommandError(
                f'Group {group.name} ({group.id}) is {group.status}: nothing '
                'is held for Heat to create.'
            )
        told = messages.not_held_for_heat(group)
        if told is not None:
            raise exceptions.CommandError(told)
        return (), template.with_hints(group.id)

    def _outcome(self, deployment, again):
        from nova_groupext_client.deploy import messages

        told = messages.partial(deployment, again)
        if told is not None:
            self._is_partial = True
            self._say(told)
        return _COLUMNS, [
            (each.path, str(each.state), each.server_id, each.fault)
            for each in deployment.members.values()
        ]

    def _say(self, *lines):
        self.app.stderr.writelines(f'{line}\n' for line in lines)


def _attributes(template, parsed_args):
    given = {
        'name': template.name,
        'description': template.description or None,
        'expires_in': parsed_args.expires_in,
    }
    return {n: value for n, value in given.items() if value is not None}


def _check_same(group, topology, template, parsed_args):
    """Raise CommandError if the group has another topology."""
    if group.topology != topology:
        words = ['openstack', 'vrt', 'group', 'set', group.id, '--wait']
        words += ['--template', *_source(parsed_args, template)]
        raise exceptions.CommandError(
            f'Group {group.name} ({group.id}) was described in another way '
            'than by this template with these parameters. To revise the '
            f'group, before you repeat this:\n  {shlex.join(words)}'
        )


def _again(parsed_args, template):
    """Return the command line to resume, without --resume and secrets."""
    words = ['openstack', 'vrt', 'deploy', *_source(parsed_args, template)]
    if parsed_args.name:
        words += ['--name', parsed_args.name]
    return shlex.join(words)


def _source(parsed_args, template):
    """Return the arguments for the template and its parameters."""
    words = [parsed_args.template]
    for option, text in parsed_args.parameters:
        name, _is_one, _value = text.partition('=')
        is_told = option == templates.FILE or name not in template.hidden
        words += [option, text if is_told else f'{name}=...']
    return words


def _show_nothing(members):
    """Ignore progress: a dry run has none."""
