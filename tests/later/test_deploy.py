# SPDX-License-Identifier: Apache-2.0
"""Deployments of templates: servers, failures, interruptions and resume."""

import os
import re
import shlex
import signal
import subprocess
import sys

import fixtures
from keystoneauth1 import exceptions as ksa_exceptions
from openstack import exceptions
import yaml

from nova_groupext_client import template
from nova_groupext_client.deploy import deployment
from nova_groupext_client.deploy import member_states
from nova_groupext_client.deploy import messages
from nova_groupext_client.deploy import names
from nova_groupext_client.deploy import servers
from nova_groupext_client.deploy import what_if
from tests.clients import base
from tests.clients.template import test_examples as examples
from tests.later import deploying

PATHS = ['front/web-0', 'front/web-1', 'db']
HELD = member_states.State.HELD
BUILDING = member_states.State.BUILDING
ACTIVE = member_states.State.ACTIVE


class TestDeploy(deploying.DeployTestCase):
    def test_every_member_becomes_a_server(self):
        loaded = self.load()

        made = self.deploy_all(loaded)

        self.assertEqual({ACTIVE: 3}, self.recorded_counts[-1])
        self.assertIn({HELD: 3}, self.recorded_counts)
        found = self.servers_of(made.group)
        self.assertEqual(sorted(PATHS), sorted(found))
        [second] = found['front/web-1']
        self.assertEqual('web-1', second['name'])
        self.assertEqual({'of': loaded.name}, second['metadata'])
        self.assertEqual(second['id'], made.members['front/web-1'].server_id)
        self.assertIsNone(_partial(made))

    def test_second_deployment_of_a_name_is_refused(self):
        self.addCleanup(self.delete_all)
        file = self.file()
        deploy = ('vrt', 'deploy', file)
        self.assertEqual(0, self.openstack(*deploy).status)
        [group] = self.vrt.groups()

        told = self.openstack(*deploy)

        self.assertEqual(1, told.status, told.out)
        self.assertIn(f'{group.id}) exists and is ACTIVE', told.err)
        self.assertEqual(1, len(list(self.vrt.groups())))
        [again] = re.findall('To continue: *openstack (.*)', told.err)
        self.assertEqual(0, self.openstack(*shlex.split(again)).status)
        self.assertEqual(3, len(self.servers_of(group)))
        another = self.openstack(*deploy, '--name', self.unique_name())
        self.assertEqual(0, another.status, another.err)

    def test_resumed_complete_deployment_shows_no_progress_before_its_end(
        self,
    ):
        loaded = self.load()
        made = self.deploy_all(loaded)
        self.recorded_counts.clear()

        self.deploy_all(loaded, resumed=made.group)

        self.assertEqual({ACTIVE: 3}, self.recorded_counts[0])

    def test_failed_member_is_released_and_created_by_resume(self):
        loaded = self.load(key='nobody')

        made = self.deploy_all(loaded)

        self.assertEqual(
            {ACTIVE: 2, member_states.State.FAILED: 1},
            self.recorded_counts[-1],
        )
        self.assertIn('key_name', made.members['db'].fault)
        self.assertEqual('RELEASED', self.status(made, 'db'))
        told = _partial(made)
        self.assertIn('1 of 3 members have neither a server nor a hold', told)
        self.assertIn(f'again --resume {made.group.id}', told)

        self.vrt.replan_group(made.group.id)
        self.wait(made.group, 'HELD')
        self.deploy_all(self.load(), resumed=made.group)

        self.assertEqual({ACTIVE: 3}, self.recorded_counts[-1])
        self.assertEqual(3, len(self.servers_of(made.group)))

    def test_refused_template_creates_no_servers(self):
        error = self.assertRaises(
            deployment.NotPlanned, self.deploy_all, self.load(webs=3)
        )

        told = messages.not_held(error.group)
        self.assertIn('REFUSED', told)
        self.assertIn('fits with 2 of 3', told)
        self.assertEqual({}, self.servers_of(error.group))

    def test_unknown_names_are_errors_with_their_path(self):
        for old, new, pattern in (
            ('cirros', 'debian', r'\$\..*members.db.image: image "debian"'),
            ('m1.tiny', 'm9', r'\$\..*front.members.web.flavor: flavor "m9"'),
            (
                '{allocate_network: none}',
                '{network: lan}',
                r'\$\..*front.members.web.networks: network "lan"',
            ),
            (
                'name: db\n',
                'block_device_mapping_v2: [{image: a, boot_index: -1}]\n',
                r'\$\..*members.db.block_device_mapping_v2: image "a"',
            ),
        ):
            loaded = template.load(
                deploying.WEB.replace(old, new), name='nowhere'
            )
            self.assertRaisesRegex(
                names.UnknownName, pattern, self.create_deployment, loaded
            )

    def status(self, made, path):
        return self.vrt.get_member(made.group, path).status

    def plan_only(self, **values):
        loaded = self.load(**values)
        made = self.create_deployment(loaded)
        try:
            with made:
                return what_if.plan_only(made, name=loaded.name)
        finally:
            found = self.vrt.find_group(loaded.name, ignore_missing=True)
            self.assertIsNone(found)

    def test_what_if_shows_the_domains_of_every_member(self):
        columns, rows = what_if.table(self.plan_only())

        self.assertEqual(('Member', 'Fits', 'Host', 'Rack', 'Zone'), columns)
        self.assertEqual(
            {(path, True) for path in PATHS}, {row[:2] for row in rows}
        )
        first, second = (row for row in rows if row[0].startswith('front'))
        self.assertNotEqual(first[2], second[2])

    def test_examples_fit(self):
        for example in examples.EXAMPLES.iterdir():
            if example.stem != 'with-heat':
                asked = self.deploy('--dry-run', text=example.read_text())
                self.assertEqual(0, asked.status, asked.err)

    def test_what_if_of_a_refused_template_shows_relaxations(self):
        error = self.assertRaises(
            deployment.NotPlanned, self.plan_only, webs=3
        )

        told = messages.does_not_fit(error.group)
        self.assertIn('host anti-affinity of front', told)
        self.assertIn('Changes that would help:\n', told)

    def test_interrupted_deployment_resumes_at_each_stage(self):
        loaded = self.load()
        one = self.stopped(loaded, sent=(type(self.vrt), 'create_group'))
        self.stopped(loaded, one.group, seen=lambda counts: True)
        self.stopped(loaded, one.group, seen=lambda counts: HELD in counts)
        with self.scheduling_blocked():
            self.stopped(loaded, one.group, sent=(servers.Servers, 'create'))
            self.stopped(
                loaded, one.group, seen=lambda counts: BUILDING in counts
            )
        self.stopped(loaded, one.group, seen=lambda counts: ACTIVE in counts)

        made = self.deploy_all(loaded, resumed=one.group)

        self.assertEqual(
            {ACTIVE: 3}, member_states.counts(made.members.values())
        )
        self.assertEqual(
            dict.fromkeys(PATHS, 1),
            {
                path: len(it)
                for path, it in self.servers_of(made.group).items()
            },
        )
        self.assertEqual('ACTIVE', self.wait(made.group).status)

    def stopped(self, loaded, resumed=None, seen=None, sent=None):
        """Deploy until an interrupt; returns the Deployment.

        :param seen: predicate of the counts of states that interrupts
        :param sent: (class, method) of a request that is interrupted
        """
        made = self.create_deployment(loaded, _interrupt_if(seen), parallel=1)
        if sent is not None:
            self.interrupt_once(*sent)
        with self.assertRaises(KeyboardInterrupt), made:
            if resumed is None:
                made.describe(name=loaded.name)
                self.fail('It was not interrupted.')
            made.resume(self.vrt.get_group(resumed.id))
            made.create()
        if resumed is None:
            self.addCleanup(self.delete_group_and_servers, made.group)
        self.assert_known(made)
        return made

    def assert_known(self, made):
        """Expect that all servers are known, and resume is suggested."""
        found = self.servers_of(made.group)
        known = {m.path: m.server_id for m in made.members.values()}
        for path, [server] in found.items():
            self.assertEqual(server['id'], known[path])
        told = messages.stopped(
            'Stopped.', made.group, made.members.values(), 'again'
        )
        self.assertIn(f'To continue:  again --resume {made.group.id}', told)
        self.assertIn(f'openstack vrt group delete {made.group.id}', told)
        for server_id in filter(None, known.values()):
            self.assertIn(server_id, told)

    def test_command_supports_dry_run_heat_output_and_resume(self):
        asked = self.deploy('--dry-run', '-f', 'json')
        self.assertEqual([True] * 3, [row['Fits'] for row in asked.json])
        loaded = template.load(deploying.WEB, name=self.unique_name())
        with self.create_deployment(loaded) as made:
            made.describe(name=loaded.name)
        self.addCleanup(self.delete_group_and_servers, made.group)

        heat = yaml.safe_load(self.deploy('--emit-heat', loaded.name).out)
        done = self.deploy('--resume', made.group.id, '-f', 'json')

        self.assertEqual(
            {'vrt_group': made.group.id, 'vrt_member': 'db'},
            heat['resources']['db']['properties']['scheduler_hints'],
        )
        self.assertNotIn('groups', heat)
        self.assertEqual(0, done.status, done.err)
        self.assertEqual(
            [(path, 'active', None) for path in sorted(PATHS)],
            [(r['Member'], r['State'], r['Fault']) for r in done.json],
        )
        self.assertIn('3 active\n', done.err)
        self.assertIn(
            'is ACTIVE', self.deploy_refusal('--emit-heat', loaded.name)
        )
        self.assertIn(
            'differs from this template',
            self.deploy_refusal(
                '--resume', loaded.name, '--parameter', 'webs=1'
            ),
        )

    def test_command_reports_errors_with_their_line(self):
        for argv, old, new, told in (
            ((), 'm1.tiny', 'm9', r'yaml: line 15, column 11: .*"m9" could'),
            (
                *((), '{allocate_network: none}', '{network: lan}'),
                r'yaml: line 17, column 11: .*networks: network "lan" could',
            ),
            ((), 'cirros', 'debian', r'yaml: line 16, column 11: .*"debian"'),
            ((), 'scope: host', 'scope: row', r'yaml: line 30, .*one of'),
            ((), 'front', 'a//b', 'line 27, column 3: .*without slashes'),
            ((), 'OS::stack_name', 'x', 'names no parameter'),
            (('--parameter', 'webs'), '', '', 'needs the form <name=value>'),
            (('--parameter', 'x=1'), '', '', 'has no parameter "x"'),
            (('--parameter-file', 'webs'), '', '', 'the form <name=file>'),
            (('--parameter-file', 'webs=/x/y'), '', '', '/x/y: No such file'),
            (('--parallel', '0'), '', '', 'at least 1'),
            (('--expires-in', '0'), '', '', 'expires_in.*1'),
            (('--name', ''), '', '', 'name'),
            (('--parameter', 'webs=3'), '', '', 'fits with 2 of 3 web'),
            (
                ('--parameter', 'webs=3', '--dry-run'),
                *('', '', 'The group does not fit(.|\n)*fits with 2 of 3 web'),
            ),
            (('--resume', 'nobody'), '', '', 'There is no group'),
        ):
            outcome = self.deploy(*argv, text=deploying.WEB.replace(old, new))
            self.assertIn(outcome.status, (1, 2))
            self.assertRegex(outcome.err, told)
            self.assertNotIn('Traceback', outcome.err)
        self.addCleanup(self.delete_all)

    def test_command_suggests_a_revision_after_a_refusal(self):
        self.addCleanup(self.delete_all)
        told = self.deploy_refusal('--parameter', 'webs=3')
        [group] = self.vrt.groups()
        self.assertIn(f'openstack vrt group hold {group.id}', told)
        self.assertIn(f'openstack vrt group delete {group.id}', told)
        # The group would differ from the template then.
        self.assertNotIn('--relax', told)

        file = self.file()
        for way in ('vrt group set .* FILE', 'vrt deploy FILE .*'):
            [found] = re.findall(f'openstack ({way})', told)
            done = self.openstack(*shlex.split(found.replace('FILE', file)))
            self.assertEqual(0, done.status, done.err)

        self.assertEqual(3, len(self.servers_of(group)))

    def test_command_suggests_a_revision_for_another_template(self):
        self.addCleanup(self.delete_all)
        file, group = self.file(), self.unique_name()
        made = self.openstack(
            *('vrt', 'group', 'create', group, '--template', file, '--wait')
        )
        self.assertEqual(0, made.status, made.err)
        resume = ('vrt', 'deploy', file, '--resume', group)
        one = ('--parameter', 'webs=1')

        told = self.openstack(*resume, *one).err
        [found] = re.findall('openstack (vrt group set .*)', told)
        revised = self.openstack(*shlex.split(found))
        done = self.openstack(*resume, *one)

        self.assertEqual(0, revised.status, revised.err)
        self.assertEqual(0, done.status, done.err)
        self.assertEqual(2, len(self.servers_of(self.vrt.find_group(group))))

    def test_command_suggests_resume_after_an_error(self):
        self.addCleanup(self.delete_all)
        for error in (
            ksa_exceptions.ConnectFailure('Nobody answers.'),
            exceptions.HttpException('Service Unavailable'),
            ValueError('Expecting value'),
        ):
            with fixtures.MockPatchObject(
                servers.Servers, 'find_by_group', side_effect=error
            ):
                told = self.deploy_refusal()
            self.assertIn(str(error), told)
            [again] = re.findall('To continue:  openstack (.*)', told)
            done = self.openstack(*shlex.split(again))
            self.assertEqual(0, done.status, done.err)
            self.delete_all()

    def test_command_fails_if_servers_stay_unreadable(self):
        self.addCleanup(self.delete_all)
        self.useFixture(
            fixtures.MockPatchObject(deployment, '_STATUS_TIMEOUT_SECONDS', 0)
        )
        error = exceptions.HttpException('Forbidden')
        with fixtures.MockPatchObject(
            servers.Servers, 'get_status', side_effect=error
        ):
            told = self.deploy_refusal()

        self.assertIn('Forbidden', told)
        self.assertIn('3 building', told)
        self.assertIn('--resume', told)

    def test_lost_answer_to_the_creation_makes_one_group(self):
        create = type(self.vrt).create_group
        lost = [ksa_exceptions.ConnectFailure('The answer is lost.')]

        def create_and_lose(*args, **kwargs):
            made = create(*args, **kwargs)
            if lost:
                raise lost.pop()
            return made

        with fixtures.MockPatchObject(
            type(self.vrt), 'create_group', create_and_lose
        ):
            self.deploy_all(self.load())

        self.assertEqual([], lost)
        self.assertEqual(1, len(list(self.vrt.groups())))

    def test_command_does_not_print_hidden_parameters(self):
        secret = deploying.WEB.replace(
            'key: {type: string, default: ""}',
            'key: {type: string, hidden: true}',
        )
        self.addCleanup(self.delete_all)

        done = self.deploy('--parameter', 'key=s3cret', text=secret)

        self.assertEqual(1, done.status, done.out)
        self.assertIn('--parameter key=... --resume', done.err)

    def test_command_reads_hidden_parameters_from_a_file(self):
        secret = self.file('s3cret\n')
        template = deploying.WEB.replace(
            'key: {type: string, default: ""}',
            'key: {type: string, hidden: true, '
            'constraints: [{allowed_pattern: "[a-z0-9]+"}]}',
        )
        self.addCleanup(self.delete_all)

        done = self.deploy('--parameter-file', f'key={secret}', text=template)

        self.assertEqual(1, done.status, done.out)
        self.assertIn(f'--parameter-file key={secret} --resume', done.err)

    def test_command_reports_a_what_if_that_was_not_deleted(self):
        self.addCleanup(self.delete_all)
        error = ksa_exceptions.ConnectFailure('Nobody answers.')
        with fixtures.MockPatchObject(
            type(self.vrt), 'delete_group', side_effect=error
        ):
            asked = self.deploy('--dry-run', '-f', 'json')

        self.assertEqual([True] * 3, [row['Fits'] for row in asked.json])
        [group] = self.vrt.groups()
        self.assertIn(f'openstack vrt group delete {group.id}', asked.err)

    def test_command_resumes_a_group_of_another_name(self):
        self.addCleanup(self.delete_all)
        made = self.openstack(
            *('vrt', 'group', 'create', 'blue', '--template', self.file()),
            *('--wait', '-f', 'json'),
        )
        self.assertEqual(0, made.status, made.err)

        done = self.deploy('--resume', 'blue')

        self.assertEqual(0, done.status, done.err)
        [server] = self.servers_of(self.vrt.find_group('blue'))['db']
        self.assertEqual({'of': 'blue'}, server['metadata'])

    def test_command_refuses_heat_output_for_a_released_member(self):
        loaded = template.load(deploying.WEB, name=self.unique_name())
        with self.create_deployment(loaded) as made:
            made.describe(name=loaded.name)
        self.addCleanup(self.delete_group_and_servers, made.group)
        self.vrt.release_group(made.group, ['db'])

        told = self.deploy_refusal('--emit-heat', loaded.name)

        self.assertIn('db is RELEASED', told)

    def test_group_is_created_and_revised_by_a_template(self):
        made = self.openstack(
            *('vrt', 'group', 'create', '--template', self.file()),
            *('--parameter', 'webs=1', '--wait', '-f', 'json'),
        )
        self.addCleanup(self.delete_all)

        self.assertEqual(0, made.status, made.err)
        self.assertEqual('HELD', made.json['status'])
        self.assertEqual(
            ['db', 'front/web-0'], [m['path'] for m in made.json['members']]
        )

        changed = self.openstack(
            *('vrt', 'group', 'set', '--template', self.file(), '--wait'),
            made.json['id'],
        )
        self.assertEqual(0, changed.status, changed.err)
        now = self.vrt.get_group(made.json['id'])
        self.assertEqual(made.json['name'], now.name)
        self.assertEqual(sorted(PATHS), [m['path'] for m in now.members])

    def test_command_stopped_with_ctrl_c_suggests_resume(self):
        file = self.file()
        command = subprocess.Popen(
            [
                *(sys.executable, '-m', 'openstackclient.shell'),
                *('vrt', 'deploy', file, '--parallel', '1'),
            ],
            env={
                **os.environ,
                'OS_CLIENT_CONFIG_FILE': str(self.cloud.clouds_yaml),
                'OS_CLOUD': 'vrt-demo',
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(self.delete_all)
        for line in command.stderr:
            if 'held' in line:
                break
        command.send_signal(signal.SIGINT)
        told = command.communicate(timeout=base.base.TIMEOUT_SECONDS)[1]

        self.assertEqual(1, command.returncode, told)
        [again] = re.findall('To continue:  openstack (.*)', told)
        done = self.openstack(*shlex.split(again))
        self.assertEqual(0, done.status, done.err)


def _interrupt_if(seen):
    def show(members):
        if seen is not None and seen(member_states.counts(members)):
            raise KeyboardInterrupt

    return show


def _partial(made):
    """Return the message about members of a Deployment without a server."""
    return messages.partial(made.group, made.members.values(), 'again')
