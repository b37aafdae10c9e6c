# SPDX-License-Identifier: Apache-2.0
"""Tests of paging: limits, markers, and links to the next page."""

from urllib import parse

from tempest.lib import decorators
from tempest.lib.common.utils import data_utils

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.tests import base

GROUPS = 5


class PagingTest(base.BaseGroupTest):
    @classmethod
    def resource_setup(cls):
        super().resource_setup()
        cls.name = data_utils.rand_name(cls.__name__)
        cls.ids = [
            cls.create_group(
                topologies.equal_members(1), name=cls.name, hold=False
            )['id']
            for _number in range(GROUPS)
        ]

    def pages(self, detail, **query):
        """Return a list of the group ids of each page."""
        pages = []
        # The limit ends the loop if the links form a circle.
        while query is not None and len(pages) < GROUPS:
            page = self.groups.list_groups(detail, **query)
            pages.append([group['id'] for group in page['vrt_groups']])
            query = self.next_query(page, detail)
        return pages

    def next_query(self, page, detail):
        """Return the query of the link to the next page, or None."""
        if 'vrt_groups_links' not in page:
            return None
        [link] = page['vrt_groups_links']
        self.assertEqual('next', link['rel'])
        url = parse.urlsplit(link['href'])
        self.assertEqual(detail, url.path.endswith('/os-vrt-groups/detail'))
        return dict(parse.parse_qsl(url.query))

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('8c4f0e7a-3a34-4b37-a0f2-5a8e1d7c9201')
    def test_links_lead_to_each_group_once(self):
        for detail in (False, True):
            pages = self.pages(detail, limit=2, name=self.name)

            first, second, third = self.ids[:2], self.ids[2:4], self.ids[4:]
            self.assertEqual([first, second, third], pages)

    @decorators.idempotent_id('8c4f0e7a-3a34-4b37-a0f2-5a8e1d7c9202')
    def test_page_starts_after_the_marker(self):
        for detail in (False, True):
            page = self.groups.list_groups(
                detail, name=self.name, marker=self.ids[2]
            )

            found = [group['id'] for group in page['vrt_groups']]
            self.assertEqual(self.ids[3:], found)

    @decorators.idempotent_id('8c4f0e7a-3a34-4b37-a0f2-5a8e1d7c9203')
    def test_limit_of_none_lists_nothing(self):
        page = self.groups.list_groups(name=self.name, limit=0)

        self.assertEqual([], page['vrt_groups'])
