# SPDX-License-Identifier: Apache-2.0
"""Every write to Placement: hold, swap, fence, empty.

One consumer each: a hold's own uuid while the member has no server, the
server's uuid afterwards. Every emptying names the consumer's generation, so
that a late request of a slow process changes nothing (DESIGN, "Holds").
"""

import itertools
import random
import time

from keystoneauth1 import exceptions as ks_exc
from oslo_log import log as logging
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import candidate

LOG = logging.getLogger(__name__)

HOLD_TYPE = 'VRT_MEMBER'
SERVER_TYPE = 'INSTANCE'

# What of a hold stays when it moves to another consumer.
SEAT = (
    'group_id',
    'member_id',
    'host',
    'node',
    'provider_uuid',
    'allocations',
    'mappings',
)

# Seconds after which no request can still be on its way to Placement.
REQUEST_LIFETIME = 120

# How often a request that only lost a race inside Placement is repeated.
ATTEMPTS = 8


class Ledger:
    """Placement, as far as holds are concerned.

    :param client: Nova's SchedulerReportClient, for its session and retries
    """

    def __init__(self, client):
        self._client = client

    # -- the four writes ---------------------------------------------------

    def hold(self, context, holds):
        """Write some holds, all or none, and remember their generations.

        :param holds: VRTHold rows in state WRITING
        :raises: HoldFailed when Placement refuses: nothing was written
        :raises: PlacementUnavailable when it is unknown whether it was
        """
        response = self._post(
            context, {hold.uuid: _filled(hold) for hold in holds}
        )
        if response.status_code != 204:
            raise exception.HoldFailed(reason=_detail(response))
        for hold in holds:
            self._written(context, hold)

    def swap(self, context, hold, server_uuid, project_id, user_id):
        """Turn a hold into the server's allocation, in one request.

        Asking again after it was done is answered as the first time.

        :returns: whether the capacity is the server's now
        :raises: PlacementUnavailable when that is unknown
        """
        server = {
            **_filled(hold),
            'project_id': project_id,
            'user_id': user_id,
            'consumer_type': SERVER_TYPE,
        }
        response = self._post(
            context, {hold.uuid: _emptied(hold), server_uuid: server}
        )
        if response.status_code == 204:
            return True
        LOG.info(
            'Placement did not swap hold %(hold)s for server %(server)s: '
            '%(why)s',
            {
                'hold': hold.uuid,
                'server': server_uuid,
                'why': _detail(response),
            },
        )
        return self.has_swapped(context, hold, server_uuid)

    def fence(self, context, hold):
        """Move a hold to a new uuid, so that no swap under way can succeed.

        :returns: the new VRTHold; None when the old one holds nothing any
            more, because a swap or an emptying was faster
        :raises: PlacementUnavailable when the outcome is unknown, or the
            hold could not be moved at this moment
        """
        fenced = VRTHold(
            **{
                name: getattr(hold, name)
                for name in VRTHold.fields
                if name in SEAT
            },
            uuid=uuidutils.generate_uuid(),
            status=states.Hold.WRITING,
            consumer_generation=None,
        )
        fenced.create(context)
        response = self._post(
            context,
            {hold.uuid: _emptied(hold), fenced.uuid: _filled(fenced)},
        )
        if response.status_code != 204:
            fenced.destroy(context)
            if self.allocations(context, hold.uuid):
                raise exception.PlacementUnavailable(reason=_detail(response))
            return None
        self._written(context, fenced)
        hold.destroy(context)
        return fenced

    def empty(self, context, hold):
        """Give a hold's capacity back and forget the hold.

        One that may still be written, by a request that was not answered,
        is not forgotten yet.

        :raises: PlacementUnavailable or HoldFailed; the row stays, for later
        """
        generation = self._generation(context, hold.uuid)
        if generation is not None:
            hold.consumer_generation = generation
            response = self._post(context, {hold.uuid: _emptied(hold)})
            if response.status_code != 204 and self.allocations(
                context, hold.uuid
            ):
                raise exception.HoldFailed(reason=_detail(response))
        elif (
            hold.status == states.Hold.WRITING
            and not timeutils.is_older_than(hold.created_at, REQUEST_LIFETIME)
        ):
            return
        hold.destroy(context)

    # -- reading -----------------------------------------------------------

    def has_swapped(self, context, hold, server_uuid):
        """Tell whether a server owns what the hold has owned."""
        return self.allocations(context, server_uuid) == hold.allocations

    def allocations(self, context, consumer):
        """Return {provider: {"resources": {class: amount}}} of a consumer."""
        body = self._get(context, f'/allocations/{consumer}')
        return {
            provider: {'resources': allocation['resources']}
            for provider, allocation in body['allocations'].items()
        }

    def is_overcommitted(self, context, provider, classes):
        """Tell whether more of a provider is allocated than there is.

        :param classes: the resource classes to look at
        """
        base = f'/resource_providers/{provider}'
        usages = self._get(context, f'{base}/usages')['usages']
        inventories = self._get(context, f'{base}/inventories')['inventories']
        return any(
            usages.get(name, 0)
            > (each['total'] - each['reserved']) * each['allocation_ratio']
            for name, each in inventories.items()
            if name in classes
        )

    def _generation(self, context, consumer):
        """Return a consumer's generation, None when it holds nothing."""
        body = self._get(context, f'/allocations/{consumer}')
        return body['consumer_generation'] if body['allocations'] else None

    def _written(self, context, hold):
        hold.consumer_generation = self._generation(context, hold.uuid)
        hold.status = states.Hold.HELD
        hold.save(context)

    # -- HTTP --------------------------------------------------------------

    def _get(self, context, url):
        try:
            response = self._client.get(
                url,
                version=candidate.PLACEMENT_VERSION,
                global_request_id=context.global_id,
            )
        except ks_exc.ClientException as exc:
            raise exception.PlacementUnavailable(reason=exc) from exc
        if response.status_code != 200:
            raise exception.PlacementUnavailable(reason=_detail(response))
        return response.json()

    def _post(self, context, body):
        """Send one atomic change; repeat it while it only loses races."""
        for attempt in itertools.count(1):
            try:
                response = self._client.post(
                    '/allocations',
                    body,
                    version=candidate.PLACEMENT_VERSION,
                    global_request_id=context.global_id,
                )
            except ks_exc.ClientException as exc:
                raise exception.PlacementUnavailable(reason=exc) from exc
            if response.status_code >= 500:
                raise exception.PlacementUnavailable(reason=_detail(response))
            if not _lost_a_race(response) or attempt == ATTEMPTS:
                return response
            time.sleep(random.uniform(0, 0.05 * attempt))  # noqa: S311


def _filled(hold):
    """A new consumer that owns what the hold's plan says."""
    return {
        'allocations': hold.allocations,
        'mappings': hold.mappings,
        'project_id': CONF.vrt.hold_project_id,
        'user_id': CONF.vrt.hold_user_id,
        'consumer_generation': None,
        'consumer_type': HOLD_TYPE,
    }


def _emptied(hold):
    """The hold's consumer owning nothing, if it is still as we know it."""
    emptied = {
        **_filled(hold),
        'allocations': {},
        'consumer_generation': hold.consumer_generation,
    }
    del emptied['mappings']
    return emptied


def _errors(response):
    try:
        return response.json()['errors']
    except (ValueError, KeyError):
        return [{'detail': response.text, 'code': ''}]


def _detail(response):
    return '; '.join(error.get('detail', '') for error in _errors(response))


def _lost_a_race(response):
    """A provider changed while Placement wrote: nothing is wrong with us.

    A consumer's generation that does not match is another matter: somebody
    else has used the hold, and asking again would not help.
    """
    return response.status_code == 409 and any(
        error.get('code') == 'placement.concurrent_update'
        and 'consumer' not in error.get('detail', '')
        for error in _errors(response)
    )
