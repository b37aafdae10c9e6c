# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/protocol/record_location.py``."""

import fixtures
from nova import exception as nova_exc
from nova import objects
from oslo_db import exception as db_exc

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects.move import VRTMove
from nova_groupext.scheduler.nova import hosts
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.protocol import record_location
from tests.services import deployment
from tests.unit.scheduler import base

LIVE = servers.ServerOutcome.LIVE


class TestRecordLocation(base.ProtocolTestCase):
    """The only member of a group, whose server Nova may move."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider, self.server = self.redeemed()
        self.other = self.deployment.make_provider(2)

    def record(self, host, moves=None, **state):
        """Record what Nova says of the server.

        :param moves: VRTMoves that were read before; by default all
        """
        member = self.deployment.member(self.uuid, 'm-0')
        rows = record_location.read_rows(self.context, [member])[member.id]
        if moves is not None:
            rows = rows._replace(moves=moves)
        record_location.record(
            *(self.context, self.deployment.placement_client(), member),
            *(rows, servers.Server(LIVE, host, host, **state)),
        )

    def moves(self):
        return VRTMove.list_by_group(
            self.context, self.deployment.group(self.uuid).id
        )

    def hosts(self):
        """Return (status of the member, hosts of its hold, of its moves)."""
        return (
            self.statuses(self.uuid)['m-0'],
            [hold.host for hold in self.holds(self.uuid, 'REDEEMED')],
            [move.host for move in self.moves()],
        )

    def test_server_on_its_host_changes_nothing(self):
        self.assertEqual([], self.points(self.record, self.provider))

        self.assertEqual(('ACTIVE', [self.provider], []), self.hosts())

    def test_move_past_the_scheduler_is_stored_once(self):
        for _round in range(2):
            self.record(self.other, is_moving=True)

        self.assertEqual(
            ('ACTIVE', [self.provider], [self.other]), self.hosts()
        )

    def test_finished_move_updates_the_hold(self):
        self.record(self.other, is_moving=True)

        self.record(self.other)

        self.assertEqual(('ACTIVE', [self.other], []), self.hosts())
        [hold] = self.holds(self.uuid)
        self.assertEqual(self.other, hold.provider_uuid)
        self.assertEqual({'VCPU': 2}, hold.amounts())

    def test_move_that_began_meanwhile_is_kept(self):
        self.record(self.other, is_moving=True)
        stale = self.moves()
        [move] = self.moves()
        move.create(self.context)

        self.record(self.other, moves=stale)

        self.assertEqual(
            ('ACTIVE', [self.provider], 2 * [self.other]), self.hosts()
        )

    def test_abandoned_move_is_deleted(self):
        self.record(self.other, is_moving=True)

        self.record(self.provider)

        self.assertEqual(('ACTIVE', [self.provider], []), self.hosts())

    def test_offloaded_server_ends_its_hold(self):
        self.record(None, is_shelved=True)

        self.assertEqual(('SHELVED', [], []), self.hosts())

    def test_unshelved_server_has_a_hold_again(self):
        self.record(None, is_shelved=True)
        self.deployment.delete_allocations(self.server)
        self.deployment.fill(self.other, consumer=self.server)

        self.record(self.other)

        self.assertEqual(('ACTIVE', [self.other], []), self.hosts())

    def test_server_without_a_host_changes_nothing(self):
        self.record(None)

        self.assertEqual(('ACTIVE', [self.provider], []), self.hosts())

    def test_host_that_cannot_be_read_changes_nothing(self):
        self.useFixture(
            fixtures.MockPatchObject(
                hosts, 'compute_node', side_effect=db_exc.DBConnectionError
            )
        )

        self.record(self.other)

        self.assertEqual(('ACTIVE', [self.provider], []), self.hosts())

    def rebuild(self, described, image, present=None, error=None):
        """Record a server on its host; return what is stored of it.

        :param described: properties of the image 'old', which is described
        :param image: id of the server's image, which has no properties
        :param present: id of the image that it had before
        :param error: raised by Nova when the image is read
        """
        member = self.deployment.member(self.uuid, 'm-0')
        request = {
            **member.resolved_request,
            **{'is_bfv': False, 'image_id': 'old'},
            'availability_zone': None,
            'image': objects.ImageMeta.from_dict(
                {'properties': described}
            ).obj_to_primitive(),
        }
        member.described.update_row(self.context, resolved_request=request)
        before = present and {**request, 'image_id': present}
        member.update_row(self.context, server_request=before)
        nothing = objects.ImageMeta.from_dict({}).obj_to_primitive()
        self.useFixture(
            fixtures.MockPatchObject(
                *(servers, 'read_image'),
                return_value=nothing,
                side_effect=error,
            )
        )
        self.record(self.provider, image=image)
        stored = self.deployment.member(self.uuid, 'm-0').server_request
        return stored and stored['image_id']

    def test_server_that_is_rebuilt_with_another_image_is_pending(self):
        uefi = {'hw_firmware_type': 'uefi'}

        self.assertEqual('other', self.rebuild(uefi, 'other'))

    def test_server_that_goes_meanwhile_stays_as_it_is(self):
        gone = nova_exc.InstanceNotFound(instance_id='gone')

        self.assertIsNone(
            self.rebuild({'hw_firmware_type': 'uefi'}, 'other', error=gone)
        )

    def test_image_that_requires_the_same_is_not_pending(self):
        self.assertIsNone(self.rebuild({}, 'like'))

    def test_server_that_is_rebuilt_as_described_is_not_pending(self):
        self.assertIsNone(self.rebuild({}, 'old', present='before'))

    def test_server_that_is_not_rebuilt_yet_stays_pending(self):
        self.assertEqual(
            'before', self.rebuild({}, 'before', present='before')
        )

    def test_resized_server_has_its_own_amounts(self):
        """It has the flavor of the definition now, and another size."""
        self.deployment.delete_allocations(self.server)
        self.deployment.fill(self.other, slots=2, consumer=self.server)
        db.compare_and_set(
            self.context,
            models.Member,
            models.Member.server_uuid == self.server,
            server_request=deployment.SMALL,
        )

        self.record(self.other, flavor='medium')

        member = self.deployment.member(self.uuid, 'm-0')
        self.assertIsNone(member.server_request)
        self.assertEqual(('ACTIVE', [self.other], []), self.hosts())
        [hold] = self.holds(self.uuid)
        self.assertEqual({'VCPU': 4}, hold.amounts())
