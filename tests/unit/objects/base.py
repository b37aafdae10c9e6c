# SPDX-License-Identifier: Apache-2.0
"""Groups in a database of the test's own."""

from nova import context
from oslotest import base

from nova_groupext import objects
from tests import fixtures
from tests import groups


class GroupCase(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Database())
        self.context = context.get_admin_context()

    def create(self, **values):
        group = groups.described(**values)
        group.create(self.context)
        return group

    def get(self, group):
        return objects.VRTGroup.get(self.context, group.uuid)
