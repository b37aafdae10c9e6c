# SPDX-License-Identifier: Apache-2.0
"""Drafts: the hidden groups of revisions that are being decided."""

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from tests.functional import base as functional
from tests.functional.api import base


class TestDrafts(base.ApiTestCase):
    def setUp(self):
        super().setUp()
        self.uuid = self.store_group(states.Group.HELD)
        revised = {
            'generation': self.group(self.uuid)['generation'],
            'topology': {'members': {'b': functional.member()}},
        }
        answer = self.api().put(
            f'{functional.GROUPS}/{self.uuid}', json={'vrt_group': revised}
        )
        self.assertEqual(202, answer.status_code, answer.text)
        draft = db.find_one(
            self.context, models.Group, models.Group.revises_id.is_not(None)
        )
        self.draft = draft.uuid

    def test_draft_is_not_found_by_its_id(self):
        for user in ('demo', 'admin'):
            for method in ('GET', 'DELETE'):
                answer = self.api(user).request(
                    f'{functional.GROUPS}/{self.draft}', method
                )
                self.assertEqual(404, answer.status_code, answer.text)

    def test_draft_is_not_listed(self):
        for user, query in (('demo', ''), ('admin', '?all_projects=true')):
            for path in ('', '/detail'):
                url = f'{functional.GROUPS}{path}{query}'
                found = self.api(user).get(url).json()['vrt_groups']
                self.assertEqual([self.uuid], [each['id'] for each in found])
