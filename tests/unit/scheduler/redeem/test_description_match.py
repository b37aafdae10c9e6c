# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/redeem/description_match.py``."""

import fixtures
from nova import context as nova_context
from nova import objects
from nova.scheduler import utils
from oslo_utils.fixture import uuidsentinel as uuids
from oslotest import base

from nova_groupext.scheduler.nova import request_specs
from nova_groupext.scheduler.redeem import description_match


def request_of(_context, spec, _host_manager, **_kwargs):
    """Return the ResourceRequest of a spec, without request filters."""
    return utils.ResourceRequest.from_request_spec(spec)


class TestDescriptionMatch(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        objects.register_all()
        self.useFixture(
            fixtures.MockPatchObject(
                request_specs, 'placement_request', request_of
            )
        )
        self.context = nova_context.get_admin_context()
        self.flavor = objects.Flavor(
            **{'id': 1, 'name': 'tiny', 'flavorid': '1', 'vcpus': 1},
            **{'memory_mb': 64, 'root_gb': 1, 'ephemeral_gb': 0, 'swap': 0},
            extra_specs={},
        )

    def request(self, image):
        """Return a resolved request, which boots from an image."""
        return {
            'flavor': self.flavor.obj_to_primitive(),
            'flavor_id': '1',
            'image': objects.ImageMeta.from_dict(image).obj_to_primitive(),
            'image_id': image['id'],
            'availability_zone': None,
            'is_bfv': False,
        }

    def spec(self, image, *, is_bfv=False):
        spec = objects.RequestSpec.from_components(
            *(self.context, uuids.server, image, self.flavor, None),
            objects.InstancePCIRequests(requests=[]),
            *({}, None, None),
        )
        spec.is_bfv = is_bfv
        return spec

    def difference(self, request, spec):
        match = description_match.DescriptionMatch(None)
        return match.difference(self.context, request, spec)

    def test_server_with_the_described_image_matches(self):
        image = {'id': uuids.image, 'properties': {}}

        found = self.difference(self.request(image), self.spec(image))

        self.assertIsNone(found)

    def test_changed_image_is_told(self):
        image = {'id': uuids.image, 'properties': {}}
        changed = {**image, 'properties': {'trait:CUSTOM_X': 'required'}}

        found = self.difference(self.request(image), self.spec(changed))

        self.assertIn(f'image {uuids.image} has changed since', found)

    def test_server_from_a_volume_matches_no_member_with_an_image(self):
        """Its image has no id."""
        image = {'id': uuids.image, 'properties': {}}

        found = self.difference(
            self.request(image), self.spec({}, is_bfv=True)
        )

        self.assertEqual(description_match.OTHER_RESOURCES, found)
