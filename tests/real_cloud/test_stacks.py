# SPDX-License-Identifier: Apache-2.0
"""Stacks on a real cloud: keystone's trusts, Heat's own domain and limits.

``tox -e real-heat``: the tests are those of tests/heat that need no look into
the cloud's process.
"""

import pathlib
import tempfile
import time

from keystoneauth1 import adapter
from oslotest import base

from tests.functional import base as functional
from tests.heat import stacks
from tests.heat import test_scaling
from tests.heat import test_stacks
from tests.real_cloud import accounts
from tests.real_cloud import cloud as clouds

TIMEOUT_SECONDS, PAUSE_SECONDS = 240, 1


class _Users:
    """The users of a real cloud, as tests of stacks want them."""

    def __init__(self, cloud):
        self._layout = cloud.layout

    def session(self, user):
        return accounts.connect(self._layout, user).session

    def nova(self, user):
        return accounts.nova(self._layout, user)


class RealStackCase(stacks.Stacks, base.BaseTestCase):
    """A test of stacks on a cloud of processes, which all tests share."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        state = pathlib.Path(folder.name) / 'cloud'
        # With Heat there are more connections than MariaDB permits by default.
        cls._cloud = cls.enterClassContext(
            clouds.running(state, with_heat=True, own_servers=True)
        )
        cls.cloud = _Users(cls._cloud)
        cls.was_used = accounts.used(cls._cloud.layout)

    def api(self, user='demo'):
        return adapter.Adapter(
            self.cloud.session(user),
            service_type='compute',
            default_microversion='2.96',
            raise_exc=False,
        )

    def group(self, uuid, user='demo'):
        answer = self.api(user).get(f'{functional.GROUPS}/{uuid}')
        self.assertEqual(200, answer.status_code, answer.text)
        return answer.json()['vrt_group']

    def planned_hosts(self, uuid):
        members = self.group(uuid, 'admin')['members']
        return {each['path']: each['host'] for each in members}

    def left(self):
        """Return the hosts with other usage than before the first stack."""
        now = accounts.used(self._cloud.layout)
        return [host for host in now if now[host] != self.was_used[host]]

    def eventually(self, read, is_done):
        """Read until the answer is good; returns it."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not is_done(answer := read()):
            self.assertLess(time.monotonic(), deadline, answer)
            time.sleep(PAUSE_SECONDS)
        return answer


class TestStacks(RealStackCase):
    test_servers_of_a_stack_are_placed_as_a_group = (
        test_stacks.TestCreate.test_servers_of_a_stack_are_placed_as_a_group
    )
    test_added_servers_are_placed_with_the_others = (
        test_stacks.TestUpdate.test_added_servers_are_placed_with_the_others
    )
    test_removed_servers_are_no_members_any_more = (
        test_stacks.TestUpdate.test_removed_servers_are_no_members_any_more
    )
    nest = test_stacks.TestValues.nest
    test_servers_of_a_nested_stack_are_members = (
        test_stacks.TestValues.test_servers_of_a_nested_stack_are_members
    )
    scale, is_scaling = (
        test_scaling.TestScaling.scale,
        test_scaling.TestScaling.is_scaling,
    )
    test_group_grows_and_shrinks_with_its_signals = (
        test_scaling.TestScaling.test_group_grows_and_shrinks_with_its_signals
    )
