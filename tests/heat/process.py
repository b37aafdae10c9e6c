# SPDX-License-Identifier: Apache-2.0
"""A Heat beside a try-out cloud, in a process of its own environment."""

import pathlib
import signal
import subprocess

import fixtures

from nova_groupext.cloud import accounts
from tests import environments

FOLDER = pathlib.Path(__file__).parent
PLUGINS = environments.TOP / 'client/nova_groupext_client/heat/plugin'

CONFIG = """\
[DEFAULT]
log_file = {state}/heat.log
transport_url = fake://
plugin_dirs = {plugins}
region_name_for_services = RegionOne
heat_metadata_server_url = {url}
auth_encryption_key = 0123456789abcdef0123456789abcdef
enable_stack_abandon = true
{options}
[database]
connection = sqlite:///{state}/heat.sqlite?timeout=60
[paste_deploy]
api_paste_config = {environment}/etc/heat/api-paste.ini
[keystone_authtoken]
auth_type = password
auth_url = {url}/identity/v3
www_authenticate_uri = {url}/identity/v3
username = heat
password = {password}
project_name = service
user_domain_id = default
project_domain_id = default
[trustee]
auth_type = password
auth_url = {url}/identity/v3
username = heat
password = {password}
user_domain_id = default
[clients_keystone]
auth_uri = {url}/identity
"""


def environment():
    """Return the folder of Heat's environment: Heat and our client."""
    return environments.make(
        'heat-engine',
        *('-c', str(environments.TOP / 'constraints.txt')),
        *('-r', str(FOLDER / 'heat.txt')),
        *('-e', str(environments.TOP / 'client')),
    )


class Heat(fixtures.Fixture):
    """A running Heat, which is in the catalogue of a cloud.

    :param cloud: cloud.Cloud
    :param options: lines of heat.conf, in [DEFAULT]
    :ivar log: path of its log
    """

    def __init__(self, cloud, options=''):
        self._cloud = cloud
        self._options = options

    def _setUp(self):
        self._state = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self._environment = environment()
        self.log = self._state / 'heat.log'
        (self._state / 'heat.conf').write_text(
            CONFIG.format(
                state=self._state,
                url=self._cloud.url,
                password=accounts.HEAT.password,
                plugins=PLUGINS,
                options=self._options,
                environment=self._environment,
            )
        )
        self.start()
        self.addCleanup(self.kill)

    def start(self):
        """Start Heat, and wait until its API answers."""
        self._process = subprocess.Popen(
            [
                str(self._environment / 'bin/python'),
                '-W',
                'ignore',
                str(FOLDER / 'heat_process.py'),
                str(self._state / 'heat.conf'),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        url = self._process.stdout.readline().strip()
        if not url:
            raise RuntimeError(self.log.read_text())
        self._cloud.add_service('orchestration', f'{url}/v1/$(project_id)s')

    def has_ended(self):
        return self._process.poll() is not None

    def kill(self):
        """Kill Heat, as a power cut does."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()
