# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/objects/member_set.py``."""

from nova.objects import image_meta
from oslotest import base

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import member_set
from nova_groupext.objects.group import VRTGroup
from tests import groups
from tests.unit.api import base as api_base
from tests.unit.objects import base as objects_base


class TestMemberSet(base.BaseTestCase):
    def test_whole_numbers_of_json_become_integers(self):
        entry = {'count': 4.0, 'flavor': 'm1', 'policies': []}

        description = member_set.description_of(entry)

        self.assertEqual("{'flavor': 'm1', 'count': 4}", str(description))
        described = groups.member_set('m', **description)
        self.assertEqual({'count': 4}, described.counts)
        self.assertEqual({'flavor': 'm1'}, described.spec)

    def test_requests_for_another_kind_of_server_are_not_alike(self):
        request = api_base.request()
        for name, value in (
            ('flavor_id', 'large'),
            ('image_id', None),
            ('is_bfv', True),
            ('availability_zone', 'az2'),
        ):
            other = {**request, name: value}
            self.assertFalse(member_set.are_alike(request, other), name)

    def test_changed_flavor_or_image_makes_another_kind(self):
        request, other = (api_base.request(vcpus=vcpus) for vcpus in (1, 2))
        firmware = image_meta.ImageMeta.from_dict(
            {'properties': {'hw_firmware_type': 'uefi'}}
        )
        image = {'image': firmware.obj_to_primitive()}

        self.assertFalse(member_set.are_alike(request, other))
        self.assertFalse(member_set.are_alike(request, {**request, **image}))


class TestStored(objects_base.GroupTestCase):
    def test_request_that_was_not_read_is_loaded(self):
        group = self.create()
        request = {'flavor_id': 'm1'}
        group.member_sets[0].update_row(self.context, resolved_request=request)

        [listed] = VRTGroup.list_for_views(self.context, [group])

        described = listed.members[0].described
        self.assertFalse(described.obj_attr_is_set('resolved_request'))
        self.assertEqual(request, described.resolved_request)

    def test_request_of_a_replaced_member_set_is_read_again(self):
        group = self.create()
        [listed] = VRTGroup.list_for_views(self.context, [group])
        is_own = models.MemberSet.group_id == group.id
        db.delete(self.context, models.MemberSet, is_own)

        with self.assertRaises(exception.GenerationConflict):
            listed.member_sets[0].resolved_request  # noqa: B018
