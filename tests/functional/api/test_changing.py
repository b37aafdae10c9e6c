# SPDX-License-Identifier: Apache-2.0
"""Changes of a group, guarded by the generation that the sender names."""

import datetime

import fixtures
from oslo_utils import timeutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.api import groups
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from tests.functional import base as functional
from tests.functional.api import base

ANOTHER = {'path': 'z', **functional.member()}
COUNTED = {'members': {'a': functional.member(count=5)}}


class ChangingCase(base.ApiTestCase):
    def put(self, uuid, **group):
        seen = {'generation': self.group(uuid)['generation'], **group}
        return self.api().put(
            f'{functional.GROUPS}/{uuid}', json={'vrt_group': seen}
        )


class TestRenaming(ChangingCase):
    def test_new_name_does_not_replan_the_group(self):
        uuid = self.store_group(states.Group.HELD)
        before = self.group(uuid)

        renamed = self.put(uuid, name='new', description='a description')

        self.assertEqual(202, renamed.status_code, renamed.text)
        after = self.group(uuid)
        changed = {name for name in after if after[name] != before[name]}
        self.assertEqual(
            {'name', 'description', 'generation', 'updated_at', 'events'},
            changed | {'updated_at'},
        )
        self.assertEqual(('new', 'HELD'), (after['name'], after['status']))
        self.assertEqual('update', after['events'][0]['event'])

    def test_expires_in_extends_a_held_group(self):
        uuid = self.store_group(states.Group.HELD)

        self.assertEqual(202, self.put(uuid, expires_in=7200).status_code)

        group = objects.VRTGroup.get(self.context, uuid)
        events = [each['event'] for each in self.group(uuid)['events']]
        self.assertEqual(['extend', 'create'], events)
        left = group.expires_at - timeutils.utcnow()
        self.assertLess(abs(left - datetime.timedelta(hours=2)).seconds, 60)
        self.assertEqual(7200, group.expires_in)

    def test_expires_in_does_not_extend_an_expired_group(self):
        uuid = self.store_group(states.Group.HELD)
        past = timeutils.utcnow() - datetime.timedelta(hours=1)
        is_own = models.Group.uuid == uuid
        db.compare_and_set(self.context, models.Group, is_own, expires_at=past)

        response = self.put(uuid, expires_in=7200)

        self.assertEqual(409, response.status_code, response.text)
        self.assertIn('its holds are being released', response.text)

    def test_invalid_update_is_refused(self):
        uuid = self.store_group(states.Group.HELD)
        for code, reason, given in (
            (400, 'contains no change', {}),
            (400, 'requires a topology', {'keep_server': True}),
            (400, 'must be at most 86400', {'expires_in': 86401}),
            (409, 'has changed since', {'name': 'x', 'generation': 99}),
        ):
            response = self.put(uuid, **given)
            self.assertEqual(code, response.status_code, response.text)
            self.assertIn(reason, response.text)

    def test_rename_during_planning_is_a_conflict(self):
        """The change would invalidate the plan in progress."""
        uuid = self.store_group(states.Group.PLANNING)

        response = self.put(uuid, name='new')

        self.assertEqual(409, response.status_code, response.text)
        self.assertIn('is being planned', response.text)

    def test_rename_during_a_revision_is_a_conflict(self):
        uuid = self.store_group(states.Group.HELD)
        self.assertEqual(202, self.act(uuid, 'replan').status_code)

        response = self.put(uuid, name='new')

        self.assertEqual(409, response.status_code, response.text)


class TestGenerations(ChangingCase):
    def changed_as_it_is_read(self, uuid):
        """Change a group as another client as soon as a request reads it.

        Only once for each request, which is handled several times.
        """
        find = groups.get_authorised

        def find_and_change(*args):
            found = find(*args)
            db.compare_and_set(
                self.context,
                models.Group,
                models.Group.uuid == uuid,
                models.Group.definition_generation == self.seen,
                generation=models.Group.generation + 1,
                definition_generation=self.seen + 1,
            )
            return found

        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.api.groups.get_authorised', find_and_change
            )
        )

    def test_concurrent_change_conflicts_and_is_kept(self):
        uuid = self.store_group(states.Group.HELD, topology=COUNTED)
        before = objects.VRTGroup.get(self.context, uuid)
        self.seen = before.definition_generation
        self.changed_as_it_is_read(uuid)
        path = f'{functional.GROUPS}/{uuid}'

        for ask in (
            lambda seen: self.act(uuid, 'extend', seen),
            lambda seen: self.act(uuid, 'release', seen),
            lambda seen: self.act(
                uuid, 'release', {'members': ['a-0'], **seen}
            ),
            lambda seen: self.act(uuid, 'replan', seen),
            lambda seen: self.act(uuid, 'boot', seen),
            lambda seen: self.api().put(
                path, json={'vrt_group': {'expires_in': 7200, **seen}}
            ),
            lambda seen: self.api().post(
                f'{path}/members', json={'member': {**ANOTHER, **seen}}
            ),
            lambda seen: self.api().delete(path, params=seen),
            lambda seen: self.api().delete(f'{path}/members/a-4', params=seen),
        ):
            response = ask({'generation': self.seen})
            self.assertEqual(409, response.status_code, response.text)
            self.assertIn('has changed since', response.text)
            self.seen += 1

        after = objects.VRTGroup.get(self.context, uuid)
        self.assertEqual(self.seen, after.definition_generation)
        self.assertEqual(
            [before.status, before.expires_at, before.members[0].status],
            [after.status, after.expires_at, after.members[0].status],
        )
        self.assertFalse(after.has_draft(self.context))
        self.assertEqual(
            {}, objects.VRTBoot.by_group(self.context, [after.id])
        )

    def test_concurrent_second_delete_is_not_found(self):
        uuid = self.store_group(states.Group.HELD)
        group = objects.VRTGroup.get(self.context, uuid)
        seen = group.generation
        group.mark_deleted(self.context, seen)

        self.assertRaises(
            exception.GroupNotFound, group.mark_deleted, self.context, seen
        )

    def test_outdated_generation_is_a_conflict(self):
        uuid = self.store_group(states.Group.HELD)
        seen = self.group(uuid)['generation']
        for response in (
            *(
                self.act(uuid, action, {'generation': seen + 1, **more})
                for action, more in (
                    ('extend', {}),
                    ('hold', {}),
                    ('propose', {}),
                    ('release', {}),
                    ('replan', {}),
                    ('boot', {}),
                    ('adopt', {'servers': {'a': 'x'}}),
                )
            ),
            self.api().post(
                f'{functional.GROUPS}/{uuid}/members',
                json={'member': {**ANOTHER, 'generation': seen + 1}},
            ),
            *(
                self.api().delete(
                    f'{functional.GROUPS}/{uuid}{path}?generation={seen + 1}'
                )
                for path in ('', '/members/a')
            ),
        ):
            self.assertEqual(409, response.status_code, response.text)
            self.assertIn('has changed since', response.text)
        self.assertEqual(seen, self.group(uuid)['generation'])

    def test_current_generation_is_accepted(self):
        uuid = self.store_group(states.Group.HELD)
        seen = {'generation': self.group(uuid)['generation']}

        extended = self.act(uuid, 'extend', {'expires_in': 60, **seen})

        self.assertEqual(202, extended.status_code, extended.text)
        path = f'{functional.GROUPS}/{uuid}'
        seen = {'generation': self.group(uuid)['generation']}
        added = self.api().post(
            f'{path}/members', json={'member': {**ANOTHER, **seen}}
        )
        self.assertEqual(202, added.status_code, added.text)
        seen = {'generation': self.group(uuid)['generation']}
        deleted = self.api().delete(path, params=seen)
        self.assertEqual(202, deleted.status_code, deleted.text)


class TestMembers(ChangingCase):
    def listed(self, uuid, query=''):
        path = f'{functional.GROUPS}/{uuid}/members{query}'
        answer = self.api().get(path)
        self.assertEqual(200, answer.status_code, answer.text)
        body = answer.json()
        paths = [member['path'] for member in body['members']]
        return paths, body.get('members_links')

    def test_members_are_listed_in_pages(self):
        uuid = self.store_group(topology=COUNTED)

        first, [link] = self.listed(uuid, '?limit=2')
        query = link['href'].partition('/members')[2]
        second, links = self.listed(uuid, query)

        self.assertEqual(['a-0', 'a-1'], first)
        self.assertEqual(['a-2', 'a-3'], second)
        third, links = self.listed(uuid, '?limit=2&marker=a-3')
        self.assertEqual((['a-4'], None), (third, links))
        self.assertEqual(5, len(self.listed(uuid)[0]))

    def test_members_are_filtered_by_status(self):
        uuid = self.store_group(topology=COUNTED)
        db.compare_and_set(
            self.context,
            models.Member,
            models.Member.path.in_(['a-1', 'a-4']),
            status=states.Member.FAILED,
        )
        found, [_link] = self.listed(uuid, '?status=FAILED&limit=1')
        self.assertEqual(['a-1'], found)
        found, _links = self.listed(uuid, '?status=FAILED&marker=a-1')
        self.assertEqual(['a-4'], found)

    def test_removal_of_the_last_member_of_a_page_does_not_end_the_list(self):
        small = functional.member()
        topology = {
            'members': {'b': functional.member(count=11), 'a': small},
            'groups': {'c': {'members': {'d': small}}},
        }
        uuid = self.store_group(topology=topology)
        counted = [f'b-{number}' for number in range(11)]

        self.assertEqual(['a', *counted, 'c/d'], self.listed(uuid)[0])
        for gone, rest in (('b-10', ['c/d']), ('a', [*counted[:10], 'c/d'])):
            path = f'{functional.GROUPS}/{uuid}/members/{gone}'
            self.assertEqual(202, self.api().delete(path).status_code)
            self.set_status(uuid, states.Group.PLANNED)

            self.assertEqual(rest, self.listed(uuid, f'?marker={gone}')[0])


class TestAnnouncements(ChangingCase):
    def test_revision_names_released_members_that_it_will_hold(self):
        uuid = self.store_group(states.Group.HELD, topology=COUNTED)
        released = self.act(uuid, 'release', {'members': ['a-1', 'a-4']})
        self.assertEqual(202, released.status_code, released.text)

        fewer = {'members': {'a': functional.member(count=4)}}
        answer = self.put(uuid, topology=fewer)

        revision = answer.json()['vrt_group']['revision']
        self.assertEqual(['a-1'], revision['held_again'])

    def test_capabilities_show_used_and_held_quota(self):
        self.set_quota(instances=10, cores=7)
        path = f'{functional.GROUPS}/capabilities'
        shown = self.api().get(path).json()['capabilities']['quota']

        self.assertEqual(
            {'limit': 10, 'used': 0, 'held': 0}, shown['instances']
        )
        self.assertEqual(7, shown['cores']['limit'])
        self.assertEqual(2000, shown['held_members']['limit'])
