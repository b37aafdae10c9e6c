# SPDX-License-Identifier: Apache-2.0
"""The openstack commands, run by openstackclient's own shell."""

import io
import pathlib
import tempfile
from unittest import mock
from xml.etree import ElementTree

from openstack import exceptions
from oslo_utils import uuidutils
import yaml

from nova_groupext_client.osc import command
from tests.clients import base
from tests.clients import shell

SVG = '{http://www.w3.org/2000/svg}'


class TestCommands(base.ClientTestCase):
    def setUp(self):
        super().setUp()
        self.files = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )

    def openstack(self, *argv, cloud='vrt-demo'):
        return shell.run(
            *argv, clouds_yaml=self.cloud.clouds_yaml, cloud=cloud
        )

    def done(self, *argv, **kwargs):
        """Return the outcome of a command, and expect that it succeeds."""
        outcome = self.openstack(*argv, **kwargs)
        self.assertEqual(0, outcome.status, outcome.err)
        return outcome

    def command_refusal(self, *argv):
        """Return the error output of a command that fails."""
        outcome = self.openstack(*argv)
        self.assertEqual(1, outcome.status, outcome.out)
        self.assertNotIn('Traceback', outcome.err)
        self.assertNotIn('http://', outcome.err)
        return outcome.err

    def definition(self, **given):
        """Write a definition of a group to a file; returns its path."""
        path = self.files / 'group.yaml'
        path.write_text(yaml.safe_dump(given))
        return str(path)

    def create_with_command(self, *argv, **given):
        """Create a group by a command; returns its JSON."""
        file = self.definition(**{'topology': base.topology(), **given})
        group = self.done(
            *('vrt', 'group', 'create', '--definition', file, '-f', 'json'),
            *(argv or (self.unique_name(),)),
        ).json
        self.addCleanup(
            self.delete_group_and_servers, self.vrt.get_group(group['id'])
        )
        return group

    def test_group_commands_create_change_and_delete_a_group(self):
        made = self.create_with_command(
            *('--wait', '--description', 'a shop', '--expires-in', '600'),
            **{'name': 'shop', 'generation': 7, 'keep_server': True},
        )
        self.assertEqual(
            ('shop', 'HELD', 'a shop'),
            (made['name'], made['status'], made['description']),
        )
        self.assertEqual(base.topology(), made['topology'])

        self.done('vrt', 'group', 'extend', 'shop', '--expires-in', '3000')
        longer = self.vrt.get_group(made['id']).expires_at
        self.assertLess(made['expires_at'], longer)

        self.done('vrt', 'group', 'release', 'shop', '--member', 'front/web-1')
        self.assertEqual(['HELD', 'RELEASED'], self.states('shop'))
        self.done('vrt', 'group', 'replan', 'shop', '--wait')
        self.assertEqual(['HELD', 'HELD'], self.states('shop'))

        self.done('vrt', 'group', 'set', 'shop', '--name', 'store', '--wait')
        file = self.definition(
            topology=base.topology(1), hold=False, client_token='x'
        )
        self.done(
            'vrt', 'group', 'set', 'store', '--definition', file, '--wait'
        )
        self.assertEqual(['HELD'], self.states('store'))

        self.done('vrt', 'group', 'delete', 'store')
        self.assertIsNone(self.vrt.find_group(made['id'], ignore_missing=True))

    def states(self, group):
        listed = self.done('vrt', 'member', 'list', group, '-f', 'json').json
        return [member['Status'] for member in listed]

    def test_member_commands_add_list_and_remove_members(self):
        group = self.hold_group().id
        image = ('--image', 'cirros', '--flavor', 'm1.tiny')

        apart = 'type=anti-affinity,scope=host,strict=false,weight=2'
        self.done(
            *('vrt', 'member', 'add', group, 'cache', *image, '--wait'),
            *('--policy', apart),
        )
        [policy] = self.vrt.get_group(group).topology['members']['cache'][
            'policies'
        ]
        self.assertEqual(
            {'type': 'anti-affinity', 'scope': 'host', 'strict': False}
            | {'weight': 2},
            policy,
        )
        self.done(
            *('vrt', 'member', 'add', group, 'front/web'),
            *('--count', '1', '--wait'),
        )
        self.assertEqual(4 * ['HELD'], self.states(group))
        self.done('vrt', 'member', 'remove', group, 'front/web-2', '--wait')
        self.done('vrt', 'member', 'remove', group, 'cache', '--wait')

        listing = ('vrt', 'member', 'list', group, '-f', 'json')
        [last] = self.done(*listing, '--marker', 'front/web-0').json
        self.assertEqual('front/web-1', last['Path'])
        self.assertEqual(1, len(self.done(*listing, '--limit', '1').json))
        self.assertEqual([], self.done(*listing, '--status', 'failed').json)
        [first, second] = self.done(*listing, '--long').json
        self.assertEqual(
            ('front/web-0', 'front/web-1'), (first['Path'], second['Path'])
        )
        self.assertEqual({'host', 'rack', 'zone'}, first['Domains'].keys())
        self.assertEqual({}, first['Changes'])
        self.assertIn(
            'only the last of these members, front/web-1,',
            self.command_refusal(
                'vrt', 'member', 'remove', group, 'front/web-0'
            ),
        )

    def test_adopted_server_is_kept_by_keep_server(self):
        group = self.create_group(hold=False)
        self.wait(group)
        server = self.boot()

        self.done(
            *('vrt', 'group', 'adopt', group.name, '--wait'),
            *('--server', f'front/web-1={server.id}'),
        )
        self.assertEqual(['HELD', 'ACTIVE'], self.states(group.name))
        told = self.command_refusal(
            'vrt', 'member', 'remove', group.name, 'front/web-1'
        )
        self.assertIn('(HTTP 409)', told)
        self.done(
            *('vrt', 'member', 'remove', group.name, 'front/web-1'),
            *('--keep-server', '--wait'),
        )

        self.assertEqual(['HELD'], self.states(group.name))
        self.assertIn(server.id, self.server_ids('demo'))

    def test_boot_command_creates_servers(self):
        group = self.hold_group(topology=base.topology(1)).id
        template = self.files / 'servers'
        boot = ('vrt', 'group', 'boot', group, '--wait')
        boot_like = (*boot, '--servers', str(template))
        template.write_text('default: [}')
        self.assertIn('servers: line 1', self.command_refusal(*boot_like))
        missing = [{'uuid': uuidutils.generate_uuid()}]
        template.write_text(yaml.dump({'default': {'networks': missing}}))
        self.assertIn('front/web-0', self.command_refusal(*boot_like))

        self.done(*boot)

        [member] = self.wait(self.vrt.get_group(group), 'ACTIVE').members
        self.assertIsNotNone(member['server_id'])

    def test_propose_command_shows_a_proposal(self):
        group = self.hold_group().id

        shown = self.done(
            *('vrt', 'group', 'propose', group, '-f', 'json')
        ).json

        self.assertEqual(
            {'status': 'placed', 'fewest': True, 'moves': []}, shown
        )

    def test_commands_with_another_generation_conflict(self):
        group = self.hold_group()
        refused = self.create_group(topology=base.topology(count=50))
        self.wait(refused)
        seen = str(group.generation + 10)
        file = self.definition(topology=base.topology(1))
        for argv in (
            ('group', 'extend', group.id),
            ('group', 'release', group.id),
            ('group', 'replan', group.id),
            ('group', 'hold', group.id),
            ('group', 'boot', group.id),
            ('group', 'propose', group.id),
            ('group', 'set', group.id, '--definition', file),
            ('group', 'set', refused.id, '--relax', '1'),
            ('group', 'delete', group.id),
            ('member', 'add', group.id, 'front/web', '--count', '1'),
            ('member', 'remove', group.id, 'front/web'),
        ):
            told = self.command_refusal('vrt', *argv, '--generation', seen)
            self.assertIn('has changed since', told)

        self.assertEqual(group, self.vrt.get_group(group))
        seen = str(group.generation)
        delete = ('vrt', 'group', 'delete', '--generation', seen, group.id)
        told = self.command_refusal(*delete, refused.id)
        self.assertIn('--generation is for one group', told)
        self.done(*delete)
        self.assertIsNone(self.vrt.find_group(group.id, ignore_missing=True))

    def test_what_if_is_held_later(self):
        group = self.create_with_command('--no-hold', '--wait', 'what-if')
        self.assertEqual('PLANNED', group['status'])

        self.done('vrt', 'group', 'hold', 'what-if', '--wait')

        self.assertEqual(['HELD', 'HELD'], self.states('what-if'))

    def test_refused_group_is_shown_with_its_relaxations(self):
        file = self.definition(topology=base.topology(50))

        told = self.command_refusal(
            *('vrt', 'group', 'create', 'too-large'),
            *('--definition', file, '--wait'),
        )
        group = self.vrt.find_group('too-large')
        self.addCleanup(self.delete_group_and_servers, group)

        self.check_refusal(told, 'too-large')
        self.assertIn(f'openstack vrt group hold {group.id}', told)

        self.done('vrt', 'group', 'set', group.id, '--relax', '1', '--wait')

        held = self.states(group.id)
        self.assertIn('HELD', held)
        self.assertIn('TENTATIVE', held)

    def test_file_with_a_boot_changes_a_group(self):
        group = self.hold_group()
        file = self.definition(topology=base.topology(1), boot={})

        self.done('vrt', 'group', 'set', group.id, '--definition', file)

    def test_refused_revision_leaves_the_group_unchanged(self):
        group = self.hold_group()
        file = self.definition(topology=base.topology(50))

        told = self.command_refusal(
            'vrt', 'group', 'set', group.id, '--definition', file, '--wait'
        )

        self.check_refusal(told, group.id)
        self.assertIn('the group is unchanged', told)
        self.assertEqual(['HELD', 'HELD'], self.states(group.id))
        self.done('vrt', 'group', 'set', group.id, '--name', 'b', '--wait')

        told = self.command_refusal(
            'vrt', 'group', 'set', group.id, '--relax', '7'
        )
        self.assertIn('no proposed change 7; the last one is number', told)
        self.done('vrt', 'group', 'set', group.id, '--relax', '1', '--wait')

        self.assertLess(2, self.states(group.id).count('HELD'))

    def check_refusal(self, told, group):
        self.assertIn('There is not enough free capacity', told)
        self.assertIn('- 50 web in front', told)
        self.assertRegex(
            told, 'Changes that would help:\n  1. fits with [0-9]+ of 50'
        )
        self.assertIn('--wait --relax 1', told)
        shown = self.done('vrt', 'group', 'show', group).out
        self.assertIn('There is not enough free capacity', shown)

    def test_errors_are_sentences(self):
        group = self.hold_group().id
        bad = self.files / 'bad.yaml'
        bad.write_text('topology:\n  members: [a: b\n')
        odd = self.files / 'odd.yaml'
        odd.write_text('members:\n  a: {image: x,\n    flavor: m1.none}\n')
        typo = self.files / 'typo.yaml'
        typo.write_text('topology: {}\ngroup: web\n')
        latin = self.files / 'latin.yaml'
        latin.write_bytes('name: x\ndescription: Müll\n'.encode('latin-1'))
        create = ('group', 'create', 'x', '--definition')
        change = ('group', 'set', group, '--definition')
        for expected, *words in (
            ('There is no group with the name', 'group', 'show', 'nobody'),
            ('the name or id "".', 'group', 'show', ''),
            (
                'use "replan" to hold its lost or released members',
                'group',
                'hold',
                group,
            ),
            ('has no member x', 'member', 'remove', group, 'x'),
            ('There is nothing to change.', 'group', 'set', group),
            ('needs a topology', 'group', 'create', 'x'),
            ('no changes are proposed', 'group', 'set', group, '--relax', '1'),
            (
                *('changes only the topology', 'group', 'set', group),
                *('--relax', '1', '--name', 'x'),
            ),
            ('nowhere.yaml: No such file', *create, 'nowhere.yaml'),
            (
                'requires --template',
                *change,
                str(typo),
                *('--parameter', 'a=1'),
            ),
            ('bad.yaml: line 3, column 1', *create, str(bad)),
            ('odd.yaml: line 3, column 5', *create, str(odd)),
            ('latin.yaml: line 2, column 15', *create, str(latin)),
            ('typo.yaml: line 2, column 1', *create, str(typo)),
            ('typo.yaml: line 2, column 1', *change, str(typo)),
            ('describes no member', *create, self.definition(topology={})),
        ):
            self.assertIn(expected, self.command_refusal('vrt', *words))

        told = self.command_refusal('vrt', 'group', 'delete', 'nobody', group)
        self.assertIn('1 of 2 groups were not deleted.', told)
        self.assertIsNone(self.vrt.find_group(group, ignore_missing=True))

    def test_error_in_an_argument_does_not_name_the_file(self):
        file = self.definition(topology=base.topology(), name='shop')
        group = self.hold_group().id
        for words in (
            ('create', '   ', '--definition', file),
            ('create', 'x', '--definition', file, '--expires-in', '0'),
            ('set', group, '--definition', file, '--name', '   '),
        ):
            told = self.command_refusal('vrt', 'group', *words)
            self.assertNotIn(file, told)
            self.assertRegex(told, '(name|expires_in): ')

        blank = self.definition(topology=base.topology(), name='   ')
        told = self.command_refusal(
            'vrt', 'group', 'create', '--definition', blank
        )
        self.assertIn(f'{blank}: line 1', told)

    def test_definition_is_read_from_standard_input(self):
        for raw, told in (
            ('name: Müll\ntopology: {}\n'.encode(), 'describes no member'),
            (b'name: x\ndescription: M\xfcll', '-: line 2, column 15'),
        ):
            stdin = io.TextIOWrapper(io.BytesIO(raw), encoding='ascii')
            with mock.patch('sys.stdin', stdin):
                self.assertIn(
                    told,
                    self.command_refusal(
                        'vrt', 'group', 'create', '--definition', '-'
                    ),
                )

    def test_nova_without_groups_is_reported(self):
        response = self.vrt.get('/os-nothing')

        exc = self.assertRaises(
            exceptions.NotFoundException,
            exceptions.raise_from_response,
            response,
        )

        self.assertIn('has no VRT groups', command.error_message(exc))

    def test_output_formats_show_the_group(self):
        group = self.hold_group()
        show = ('vrt', 'group', 'show', group.name, '-c', 'members')
        listing = ('vrt', 'group', 'list', '--name', group.name)

        self.assertEqual(
            group.members, self.done(*show, '-f', 'json').json['members']
        )
        shown = yaml.safe_load(self.done(*show, '-f', 'yaml').out)
        self.assertEqual(group.members, shown['members'])
        self.assertIn('| front/web-0 HELD', self.done(*show).out)
        self.assertEqual(
            f'"ID","Name","Status"\n"{group.id}","{group.name}","HELD"\n',
            self.done(*listing, '-f', 'csv').out.replace('\r', ''),
        )
        self.assertEqual(
            f'{group.id}\n',
            self.done(*listing, '-f', 'value', '-c', 'ID').out,
        )

    def test_lists_are_filtered_and_sorted(self):
        one, other = self.hold_group(), self.create_group(hold=False)
        self.wait(other)

        def ids(*argv, **kwargs):
            listing = ('vrt', 'group', 'list', '-f', 'json')
            listed = self.done(*listing, *argv, **kwargs).json
            return {row['ID'] for row in listed}

        self.assertLessEqual({one.id, other.id}, ids())
        self.assertNotIn(other.id, ids('--status', 'held'))
        self.assertEqual({other.id}, ids('--name', other.name))
        self.assertEqual(1, len(ids('--limit', '1')))
        self.assertEqual(set(), ids('--client-token', one.id))
        rows = self.done(
            *('vrt', 'group', 'list', '-f', 'json', '--sort', 'name:desc')
        ).json
        names = [row['Name'] for row in rows]
        self.assertEqual(sorted(names, reverse=True), names)
        self.assertNotIn(one.id, ids('--member-status', 'tentative'))
        self.assertEqual(set(), ids('--server', one.id))
        self.assertEqual(set(), ids('--changes-since', '2999-01-01T00:00:00Z'))
        self.assertNotIn(one.id, ids(cloud='vrt-other'))
        project = ('--project', one.project_id)
        self.assertIn(one.id, ids(*project, cloud='vrt-admin'))
        self.assertIn(one.id, ids('--all-projects', cloud='vrt-admin'))
        [row] = self.done(
            *('vrt', 'group', 'list', '--long', '--name', one.name)
        ).out.splitlines()[3:-1]
        self.assertIn('2 HELD', row)

    def test_group_is_shown_as_map_and_picture(self):
        spread = {'type': 'spread', 'scope': 'rack', 'min_domains': 2}
        group = self.hold_group(topology=base.topology(policies=[spread]))
        file = self.files / 'group.svg'

        drawn = self.done('vrt', 'group', 'show', group.name, '--map').out
        self.done('vrt', 'group', 'show', group.name, '--draw', str(file))
        seen = self.done(
            'vrt', 'group', 'show', group.id, '--map', cloud='vrt-admin'
        ).out

        hosts = [member['domains']['host'][:8] for member in group.members]
        for host, member in zip(hosts, group.members, strict=True):
            self.assertIn(f'    host {host}:  {member["path"]}\n', drawn)
        self.assertEqual(2, drawn.count('  rack '))
        self.assertIn('zone az1\n', drawn)
        self.assertNotIn('cmp-', drawn)
        self.assertIn('host cmp-1:', seen)
        words = {e.text for e in ElementTree.parse(file).iter(f'{SVG}text')}
        self.assertLessEqual({f'host {host}' for host in hosts}, words)

    def test_capabilities_are_shown(self):
        shown = self.done('vrt', 'capabilities', 'show', '-f', 'json').json

        self.assertEqual(['host', 'rack', 'zone'], shown['scopes'])
        self.assertIn('min_domains', shown['policies']['spread'])
        self.assertEqual(
            {'limit', 'used', 'held'}, shown['quota']['instances'].keys()
        )
        self.assertIn(
            'survive: scope, strict, weight, failures, min_members',
            self.done('vrt', 'capabilities', 'show').out,
        )
