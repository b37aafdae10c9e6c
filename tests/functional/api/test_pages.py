# SPDX-License-Identifier: Apache-2.0
"""Filters, order and pages of lists, and the rows that they read."""

import datetime
import itertools
from urllib import parse

from oslo_utils import timeutils
from oslo_utils import uuidutils
import sqlalchemy as sa

from nova_groupext import objects
from nova_groupext.api import vrt_groups
from nova_groupext.db import api as db
from nova_groupext.db import engine
from nova_groupext.db import models
from nova_groupext.objects import listing
from nova_groupext.objects import states
from tests import groups
from tests.functional import base as functional
from tests.functional.api import base

COUNTED = {'members': {'a': functional.member(count=3)}}
UNKNOWN = uuidutils.generate_uuid()
# Values with which a group is the first one of a list, by direction.
FRONTS = {
    'asc': {
        'name': '',
        'status': states.Group.ACTIVE,
        'updated_at': datetime.datetime(2000, 1, 1),
    },
    'desc': {
        'name': 'zzz',
        'status': states.Group.UNDECIDED,
        'updated_at': datetime.datetime(2100, 1, 1),
    },
}


class PageCase(base.ApiTestCase):
    def get(self, query, user='demo'):
        response = self.api(user).get(f'{functional.GROUPS}{query}')
        self.assertEqual(200, response.status_code, response.text)
        return response.json()

    def listed(self, query='', user='demo'):
        return [each['id'] for each in self.get(query, user)['vrt_groups']]

    def walk(self, path):
        """Yield the ids on each page, by the links between them."""
        while path is not None:
            answer = self.get(path)
            yield [each['id'] for each in answer['vrt_groups']]
            links = answer.get('vrt_groups_links', [])
            path = None
            for link in links:
                path = link['href'].partition(functional.GROUPS)[2]

    def pages(self, path):
        return [*self.walk(path)]

    def api_delete(self, uuid):
        """DELETE a group; without a planner its row stays."""
        self.api().delete(f'{functional.GROUPS}/{uuid}')


class TestPages(PageCase):
    def test_pages_of_details_are_limited_by_members(self):
        groups = [self.store_group(topology=COUNTED) for _each in range(5)]
        self.patch(vrt_groups, 'PAGE_MEMBERS', 7)

        self.assertEqual(
            [groups[:2], groups[2:4], groups[4:]], self.pages('/detail')
        )
        self.assertEqual(
            [[each] for each in groups], self.pages('/detail?limit=1')[:5]
        )
        self.assertEqual([groups], self.pages(''))
        self.patch(vrt_groups, 'PAGE_MEMBERS', 2)
        self.assertEqual([[each] for each in groups], self.pages('/detail'))

    def test_members_of_revisions_count_for_pages_of_details(self):
        groups = [self.store_group(states.Group.HELD) for _each in range(5)]
        for uuid in groups[1:3]:
            self.revise(uuid)
        self.delete_draft(groups[2])
        self.patch(vrt_groups, 'PAGE_MEMBERS', 4)

        self.assertEqual(
            [groups[:1], groups[1:2], groups[2:]], self.pages('/detail')
        )

    def revise(self, uuid):
        """PUT a definition with three members."""
        revised = {
            'generation': self.group(uuid)['generation'],
            'topology': COUNTED,
        }
        path = f'{functional.GROUPS}/{uuid}'
        answer = self.api().put(path, json={'vrt_group': revised})
        self.assertEqual(202, answer.status_code, answer.text)

    def delete_draft(self, uuid):
        """Delete the draft of a group, as its successor or commit does."""
        group = objects.VRTGroup.get(self.context, uuid)
        for draft in objects.VRTGroup.drafts_by_group(
            self.context, [group.id]
        ).values():
            draft.mark_deleted(self.context)

    def test_change_of_the_last_group_of_a_page_does_not_end_the_list(self):
        def purge(uuid, _front):
            db.delete(self.context, models.Group, models.Group.uuid == uuid)

        def delete(uuid, _front):
            self.api_delete(uuid)

        def move_to_front(uuid, front):
            self.change_row(uuid, **front)

        for sort_key, change, (direction, front) in itertools.product(
            listing.SORT_KEYS, (purge, delete, move_to_front), FRONTS.items()
        ):
            self.delete_all_groups()
            for _each in range(5):
                self.store_group()
            query = f'?sort_key={sort_key}&sort_dir={direction}'
            groups = self.listed(query)

            pages = []
            for page in self.walk(f'{query}&limit=2'):
                pages.append(page)
                change(page[-1], front)

            self.assertEqual(
                [groups[:2], groups[2:4], groups[4:]], pages, query
            )

    def test_last_group_deleted_while_details_are_read_is_no_end(self):
        groups = [self.store_group(topology=COUNTED) for _each in range(3)]
        self.patch(vrt_groups, 'PAGE_MEMBERS', 2)
        stock = objects.VRTGroup.list_for_views
        deletes = [groups[0]]

        def list_for_views(context, page):
            while deletes:
                self.api_delete(deletes.pop())
            return stock(context, page)

        self.patch(objects.VRTGroup, 'list_for_views', list_for_views)

        self.assertEqual(
            [[], *([each] for each in groups[1:])], self.pages('/detail')
        )

    def test_list_does_not_read_resolved_requests_of_members(self):
        self.revise(self.store_group(states.Group.HELD))
        statements = []

        def note(_connection, _cursor, statement, *_others):
            statements.append(statement)

        ours = (engine.get_engine(), 'before_cursor_execute', note)
        sa.event.listen(*ours)
        self.addCleanup(sa.event.remove, *ours)

        [shown] = self.get('/detail')['vrt_groups']

        revised = shown['revision']['topology']['members']
        self.assertEqual(COUNTED['members'], revised)
        of_members = [each for each in statements if 'vrt_members.' in each]
        self.assertNotEqual([], of_members)
        for statement in of_members:
            self.assertNotIn('vrt_members.resolved_request', statement)


class TestFilters(PageCase):
    def test_list_by_server_finds_its_group(self):
        uuid, other = self.store_group(), self.store_group()
        server = uuidutils.generate_uuid()
        [member] = objects.VRTGroup.get(self.context, uuid).members
        db.compare_and_set(
            self.context,
            models.Member,
            models.Member.id == member.id,
            server_uuid=server,
            status=states.Member.ACTIVE,
        )

        self.assertEqual([uuid], self.listed(f'?server_id={server}'))
        self.assertEqual([], self.listed(f'?server_id={server}', 'other'))
        self.assertEqual([uuid], self.listed('?member_status=ACTIVE'))
        self.assertEqual([other], self.listed('?member_status=TENTATIVE'))

    def test_list_is_filtered_by_token_and_time(self):
        old = self.store_group()
        past = timeutils.utcnow() - datetime.timedelta(hours=2)
        self.change_row(old, created_at=past, updated_at=past)
        body = {'topology': base.ONE, 'client_token': 'a token'}
        new = self.post(**body).json()['vrt_group']['id']

        self.assertEqual([new], self.listed('?client_token=a%20token'))
        hour = timeutils.utcnow() - datetime.timedelta(hours=1)
        since = parse.quote(hour.isoformat())
        self.assertEqual([new], self.listed(f'?changes-since={since}Z'))
        self.assertEqual([new], self.listed(f'?changes-since={since}%2B00:00'))
        self.change_row(old, name='renamed')
        self.assertEqual([old, new], self.listed(f'?changes-since={since}Z'))

    def test_change_of_a_draft_counts_as_a_change_of_its_group(self):
        uuid = self.store_group(states.Group.HELD)
        group = objects.VRTGroup.get(self.context, uuid)
        draft = groups.unstored(revises_id=group.id, project_id='x')
        draft.create(self.context)
        for each, time in ((uuid, '2020-01-01'), (draft.uuid, '2021-01-01')):
            moment = datetime.datetime.fromisoformat(time)
            self.change_row(each, created_at=moment, updated_at=moment)

        self.assertEqual([uuid], self.listed('?changes-since=2020-06-01'))
        self.assertEqual([], self.listed('?changes-since=2021-06-01'))

    def test_admin_lists_one_project_or_all(self):
        mine, others = (
            self.store_group(),
            self.post('other', topology=base.ONE),
        )
        other = others.json()['vrt_group']
        project = other['project_id']

        query = f'?project_id={project}'
        self.assertEqual([other['id']], self.listed(query, 'admin'))
        self.assertEqual(
            [mine, other['id']], self.listed('?all_tenants=1', 'admin')
        )
        for query in (f'?project_id={project}', '?all_tenants=1'):
            response = self.api().get(f'{functional.GROUPS}{query}')
            self.assertEqual(403, response.status_code, response.text)

    def test_list_is_sorted_by_key_and_direction(self):
        ids = {}
        for name in ('b', 'a', 'c', 'a'):
            body = {'topology': base.ONE, 'name': name}
            uuid = self.post(**body).json()['vrt_group']['id']
            ids.setdefault(name, []).append(uuid)
        by_name = [*ids['a'], *ids['b'], *ids['c']]

        for query in ('?sort_key=name', '?sort_key=name&limit=1'):
            pages = self.pages(query)
            self.assertEqual(by_name, [*itertools.chain(*pages)])
        for path in ('', '/detail'):
            self.assertEqual(
                by_name[::-1],
                self.listed(f'{path}?sort_key=name&sort_dir=desc'),
            )
        found = self.pages('?sort_dir=desc&limit=3')
        newest = [ids['a'][1], *ids['c'], ids['a'][0], *ids['b']]
        self.assertEqual([newest[:3], newest[3:]], found[:2])
        self.change_row(ids['b'][0], description='changed')
        self.assertEqual(ids['b'][0], self.listed('?sort_key=updated_at')[-1])

    def test_id_of_a_deleted_group_is_a_marker_only_by_creation(self):
        first, second = self.store_group(), self.store_group()
        self.api_delete(first)

        for sort_key in listing.SORT_KEYS:
            path = f'?marker={first}&sort_key={sort_key}'
            response = self.api().get(f'{functional.GROUPS}{path}')
            if sort_key == listing.CREATED_AT:
                self.assertEqual([second], self.listed(path))
            else:
                self.assertEqual(400, response.status_code, response.text)
                self.assertIn(
                    f'query.marker: VRT group {first}', response.text
                )

    def test_marker_may_be_in_any_form_of_a_uuid(self):
        first, second = self.store_group(), self.store_group()

        for marker in (first.upper(), first.replace('-', '')):
            for sort_key in listing.SORT_KEYS:
                path = f'?marker={marker}&sort_key={sort_key}'
                self.assertEqual([second], self.listed(path))

    def test_marker_of_another_project_is_refused(self):
        other = self.post('other', topology=base.ONE, name='m')
        marker = other.json()['vrt_group']['id']
        query = f'?sort_key=name&marker={marker}'

        response = self.api().get(f'{functional.GROUPS}{query}')

        self.assertEqual(400, response.status_code, response.text)
        self.assertEqual([], self.listed(f'{query}&all_tenants=1', 'admin'))

    def test_invalid_queries_are_refused(self):
        for query, reason in (
            ('?sort_key=size', 'query.sort_key: must be one of'),
            ('?sort_dir=up', 'query.sort_dir: must be one of'),
            ('?member_status=DONE', 'query.member_status: must be one of'),
            # Only a whole group tells which members are too many.
            ('?member_status=LEAVING', 'query.member_status: must be one'),
            ('?changes-since=today', 'is not an ISO 8601 time'),
            (
                '?changes-since=9999-12-31T23:59:59-14:00',
                'is not an ISO 8601 time',
            ),
            ('?marker=x', 'query.marker: is not the id'),
            ('?marker=', 'query.marker: is not the id'),
            (f'?marker={UNKNOWN}:x', 'query.marker: is not the id'),
            (
                f'?sort_key=updated_at&marker={UNKNOWN}:today',
                'query.marker: is not the id',
            ),
            (
                f'?sort_key=name&marker={UNKNOWN}',
                'query.marker: VRT group',
            ),
        ):
            response = self.api().get(f'{functional.GROUPS}{query}')
            self.assertEqual(400, response.status_code, query)
            self.assertIn(reason, response.text)
