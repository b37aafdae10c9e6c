# SPDX-License-Identifier: Apache-2.0
"""Comparison of a request's server with many members."""

from unittest import mock

from nova import objects
from oslotest import base

from nova_groupext.api import descriptions
from nova_groupext.api import hinted_members
from nova_groupext.api import resolve

IMAGE = objects.ImageMeta.from_dict({'disk_format': 'raw'})


def request(**others):
    return {
        'flavor_id': 'small',
        'availability_zone': None,
        'is_bfv': False,
        'image_id': 'another',
        'image': IMAGE.obj_to_primitive(),
        **others,
    }


class TestServerDescription(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.read_image = self.enterContext(
            mock.patch.object(
                resolve, 'read_image', return_value=(None, IMAGE)
            )
        )
        self.described = descriptions.ServerDescription.of_body(
            None, {'flavorRef': 'small', 'imageRef': 'image'}
        )

    def test_image_is_read_once_for_all_members(self):
        for _member in range(50):
            self.assertEqual([], self.described.differences(request()))

        self.assertEqual(1, self.read_image.call_count)

    def test_same_image_is_not_read(self):
        same = request(image_id='image')

        self.assertEqual([], self.described.differences(same))

        self.assertEqual(0, self.read_image.call_count)

    def test_image_that_requires_something_else_is_a_difference(self):
        other = objects.ImageMeta.from_dict({'disk_format': 'qcow2'})

        self.assertEqual(
            [('image', 'image', 'another')],
            self.described.differences(
                request(image=other.obj_to_primitive())
            ),
        )


class TestSimilarPaths(base.BaseTestCase):
    def compared(self, path, known):
        """Return the paths that an unknown one is compared with."""
        group = mock.Mock(
            subgroups=[],
            members=[],
            member_sets=[mock.Mock(path=each) for each in known],
        )
        with mock.patch(
            'difflib.get_close_matches', return_value=[]
        ) as compare:
            hinted_members._suggest(group, path)
        [(_path, compared), _kwargs] = compare.call_args
        return compared

    def test_few_short_paths_of_like_length_are_compared(self):
        many = [f'w-{number:03}' for number in range(1000)]

        self.assertEqual(
            hinted_members.MAX_COMPARED, len(self.compared('v-001', many))
        )
        self.assertEqual([], self.compared('a' * 199, ['b' * 200] * 1000))
        self.assertEqual(['a/w'], self.compared('a/v', ['a/w', 'a' * 30]))
