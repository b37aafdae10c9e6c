# SPDX-License-Identifier: Apache-2.0
"""Deployments of templates, and their interruptions."""

import contextlib
import pathlib
import signal
import tempfile
import threading

import fixtures
from nova.conductor import manager as conductor

from nova_groupext_client import template
from nova_groupext_client.deploy import deployment
from nova_groupext_client.deploy import member_states
from tests import fixtures as test_fixtures
from tests.clients import base
from tests.clients import shell

WEB = """\
heat_template_version: 2021-04-16
parameters:
  webs: {type: number, default: 2}
  key: {type: string, default: ""}
  flavor: {type: string, default: m1.tiny}
resources:
  web:
    type: OS::Heat::ResourceGroup
    properties:
      count: {get_param: webs}
      resource_def:
        type: OS::Nova::Server
        properties: &small
          name: web-%index%
          flavor: {get_param: flavor}
          image: cirros
          networks: [{allocate_network: none}]
          user_data: number %index%
          metadata: {of: {get_param: "OS::stack_name"}}
  db:
    type: OS::Nova::Server
    properties:
      <<: *small
      name: db
      key_name: {get_param: key}
groups:
  front:
    members: [web]
    policies:
      - {type: anti-affinity, scope: host}
"""


class DeployTestCase(base.ClientTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(test_fixtures.DefaultSigint())
        self.recorded_counts = []

    def load(self, **values):
        return template.load(WEB, values, self.unique_name())

    def create_deployment(self, loaded, show=None, parallel=4):
        return deployment.Deployment(
            *(self.conn, loaded, show or self.record_counts, parallel),
            interval=base.INTERVAL_SECONDS,
        )

    def record_counts(self, members):
        self.recorded_counts.append(member_states.counts(members))

    def deploy_all(self, loaded, resumed=None, show=None):
        """Deploy a template; returns the Deployment at its end."""
        made = self.create_deployment(loaded, show)
        try:
            with made:
                if resumed is None:
                    made.describe(name=loaded.name)
                else:
                    made.resume(self.vrt.get_group(resumed.id))
                made.create()
                made.release()
        finally:
            if made.group is not None:
                self.addCleanup(self.delete_group_and_servers, made.group)
        return made

    def servers_of(self, group):
        """Return {member path: [server]} of a group's servers."""
        answer = self.conn.compute.get('/servers/detail', microversion='2.100')
        servers_by_path = {}
        for server in answer.json()['servers']:
            hints = server['scheduler_hints']
            if hints.get('vrt_group') == [group.id]:
                [path] = hints['vrt_member']
                servers_by_path.setdefault(path, []).append(server)
        return servers_by_path

    @contextlib.contextmanager
    def scheduling_blocked(self):
        """Delay the scheduling of servers until the end of the context."""
        schedule = conductor.ComputeTaskManager._schedule_instances
        open_again = threading.Event()

        def scheduled(*args, **kwargs):
            open_again.wait(base.base.TIMEOUT_SECONDS)
            return schedule(*args, **kwargs)

        with fixtures.MockPatchObject(
            conductor.ComputeTaskManager, '_schedule_instances', scheduled
        ):
            try:
                yield
            finally:
                open_again.set()

    def interrupt_once(self, owner, name):
        """Send SIGINT once, before a request has its answer."""
        stock = getattr(owner, name)

        def sent(*args, **kwargs):
            setattr(owner, name, stock)
            main = threading.main_thread()
            signal.pthread_kill(main.ident, signal.SIGINT)
            return stock(*args, **kwargs)

        self.useFixture(fixtures.MockPatchObject(owner, name, sent))

    def openstack(self, *argv):
        return shell.run(
            *argv, clouds_yaml=self.cloud.clouds_yaml, cloud='vrt-demo'
        )

    def deploy(self, *argv, text=WEB):
        """Run ``openstack vrt deploy`` with a template in a file."""
        return self.openstack('vrt', 'deploy', self.file(text), *argv)

    def file(self, text=WEB):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        path = pathlib.Path(folder) / f'{self.unique_name()}.yaml'
        path.write_text(text)
        return str(path)

    def deploy_refusal(self, *argv, **kwargs):
        """Return the error output of a command that fails."""
        outcome = self.deploy(*argv, **kwargs)
        self.assertEqual(1, outcome.status, outcome.out)
        self.assertNotIn('Traceback', outcome.err)
        return outcome.err

    def delete_all(self):
        for group in self.vrt.groups():
            self.delete_group_and_servers(group)
