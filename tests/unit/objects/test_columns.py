# SPDX-License-Identifier: Apache-2.0
"""Lists of columns that are copied, compared with the columns of the tables.

Whoever adds a column decides here whether it is part of a definition, or of
the capacity of a hold.
"""

from oslotest import base

from nova_groupext.db import models
from nova_groupext.objects import definitions
from nova_groupext.objects import drafts
from nova_groupext.objects import hold

EVERY_TABLE = {'id', 'created_at', 'updated_at'}

# Columns that a group and its drafts have each for themselves
GROUP_STATE = {
    *('uuid', 'status', 'fault', 'fault_at', 'counter'),
    *('generation', 'definition_generation'),
    *('client_token', 'request_digest', 'expires_at', 'drift'),
}
DRAFT_STATE = {
    *('revises_id', 'movable_paths', 'keep_server', 'is_binding'),
    *('excluded_nodes', 'is_for_creates'),
}
HOLD_STATE = {
    *('uuid', 'status', 'server_uuid', 'if_compensated', 'ends_with_swap'),
    *('watched_at', 'checks', 'check_began_at', 'lost'),
}


class TestColumns(base.BaseTestCase):
    def assert_sorted_out(self, model, *kinds):
        """Expect that each column is in one of some lists."""
        columns = sorted(model.__table__.columns.keys())
        listed = [name for kind in (*kinds, EVERY_TABLE) for name in kind]
        self.assertEqual(columns, sorted(listed))

    def test_replacement_copies_the_definition_of_a_group(self):
        parts = {*models.Group.__mapper__.relationships.keys()}
        copied = {*drafts.COPIED_FIELDS} - parts
        self.assert_sorted_out(
            *(models.Group, definitions.GROUP_COLUMNS, copied),
            *(GROUP_STATE, DRAFT_STATE),
        )

    def test_successor_copies_the_capacity_of_a_hold(self):
        self.assert_sorted_out(models.Hold, hold.CAPACITY_COLUMNS, HOLD_STATE)
