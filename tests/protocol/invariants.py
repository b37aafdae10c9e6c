# SPDX-License-Identifier: Apache-2.0
"""What holds after every step, and what holds when all is at rest."""

import collections
import json

from nova_groupext import objects
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler.protocol import redeem
from tests.protocol import world
from tests.services import owners

_HOLDS = (
    'SELECT uuid, status, member_id, server_uuid, allocations, otherwise, '
    'leaves, watched_at FROM vrt_holds'
)
_RESIZES = (
    'SELECT server_uuid FROM vrt_holds '
    'WHERE resize_member_id IS NOT NULL AND watched_at IS NOT NULL'
)
_MEMBERS = 'SELECT id, path, server_uuid FROM vrt_members'


class Violation(Exception):
    """A run has broken a promise."""


def check_step(here):
    """Check what is true at every instant.

    :param here: world.World
    :raises: Violation
    """
    consumers = here.consumers()
    holds = here.tables().execute(_HOLDS).fetchall()
    _check_rows(here, consumers, holds)
    _check_owners(here, consumers, holds)
    _check_promises(here, holds)
    for server in here.granted - here.gone:
        if not here.owns(server):
            raise Violation(f'server {server} has lost what it was granted')
    _check_alone(here)


def _check_alone(here):
    """No stranger gets anything where the group is alone.

    But for what Nova, or an operator, has freed, as long as that is free.
    What is filled once more has that only for a moment.
    """
    consumers = here.consumers()
    for provider in here.kept():
        free = here.free(provider)
        if free > here.open.get(provider, 0):
            raise Violation(f'{free} of {provider} are open')
        if not here.removed:
            here.open[provider] = free
        for uuid, came_meanwhile in here.strangers.items():
            if not came_meanwhile and provider in consumers[uuid].allocations:
                raise Violation(f'stranger {uuid} is on {provider}')


def _check_rows(here, consumers, holds):
    """Everything that is not a server's has a row."""
    named = {uuid for uuid, *_rest in holds}
    for uuid, consumer in consumers.items():
        if consumer.consumer_type != 'INSTANCE' and uuid not in named:
            raise Violation(f'consumer {uuid} has no row')


def _check_owners(here, consumers, holds):
    """No member has two owners."""
    members = {
        id_: (path, server)
        for id_, path, server in here.tables().execute(_MEMBERS)
    }
    owned = {}
    for row in holds:
        uuid, status, member_id, server, allocations, otherwise = row[:6]
        leaves, watched_at = row[6:]
        # What leaves is nobody's as soon as the successor owns something; what
        # is filled once more and comes late is swept.
        comes_late = status == states.Hold.EXCHANGING and watched_at
        if member_id not in members or leaves or comes_late:
            continue
        path, members_server = members[member_id]
        mine = owned.setdefault(path, set())
        if status in states.HOLD_COMMITTED:
            mine |= {uuid, server, members_server} & set(consumers)
        elif (
            status == states.Hold.WRITING
            and otherwise is not None
            and uuid in consumers
            and _is(consumers[uuid], allocations)
        ):
            mine.add(uuid)
    for path, mine in owned.items():
        if len(mine) > 1:
            raise Violation(f'{path} is owned by {sorted(mine)}')


def _check_promises(here, holds):
    """What is promised is owned, unless somebody else has removed it.

    Or it is just taken from a server that nobody will build.
    """
    for uuid, status, _member, server, *_seats in holds:
        owners_of = {
            states.Hold.HELD: {uuid},
            states.Hold.REDEEMING: {uuid, server},
            states.Hold.REDEEMED: {server},
        }.get(status, ())
        if (
            owners_of
            and uuid not in here.removed
            and server not in here.gone
            and not (
                status == states.Hold.REDEEMED
                and here.life.fates.get(server) in redeem.DEAD
            )
            and not any(map(here.owns, owners_of))
        ):
            raise Violation(f'hold {uuid} is {status}, and nobody owns it')


def _is(consumer, allocations):
    said = json.loads(allocations) if allocations else {}
    return consumer.allocations == {
        provider: each['resources'] for provider, each in said.items()
    }


def check_answers(here):
    """Check what servers were told, when all who told it have ended.

    :param here: world.World
    :raises: Violation
    """
    for server in here.lost - here.granted:
        if here.owns(server):
            raise Violation(f'server {server} was told that it has nothing')


def check_rest(here):
    """Check what is true when reapers find nothing to do any more.

    :param here: world.World
    :raises: Violation
    """
    check_step(here)
    rows = here.life.owners()
    _check_books(here, rows)
    _check_places(here, rows)
    _check_hints(here, rows)
    if not rows.pairs() <= owners.AT_REST:
        raise Violation(f'at rest there is {rows.pairs()}')
    for member, holds in VRTMember.list_promises(here.life.context):
        pairs = {(member.status, hold.status) for hold in holds}
        if len(holds) != 1 or not pairs <= states.VALID_STATE_PAIRS:
            raise Violation(f'{member.path} has {pairs}')
    found = objects.VRTGroup.list(here.life.context)
    for group in objects.VRTGroup.list_shown(here.life.context, found):
        if rows.settled(group) != group.status:
            raise Violation(f'the group is {group.status} for {rows.pairs()}')
    for provider in here.kept():
        if here.free(provider):
            raise Violation(f'{provider} is not full')
    _check_own_hosts(here)


def _check_own_hosts(here):
    """No member is refused its own host for the sake of placeholders."""
    if not here.is_alone or here.strangers or here.has_lost_records():
        return
    found = objects.VRTGroup.list(here.life.context)
    for group in objects.VRTGroup.list_shown(here.life.context, found):
        for member in group.members:
            if member.fault == swaps.IS_LOST:
                raise Violation(f'{member.path} was refused its own host')


def _check_places(here, rows):
    """The rows say where servers rest, and no strict policy is broken."""
    for hold, _member in rows.promised():
        there = here.life.whereabouts.get(hold.server_uuid)
        if there not in (None, hold.provider_uuid):
            raise Violation(f'server {hold.server_uuid} is on {there}')
    group = here.life.find(here.uuid)
    if group is None or not group.has_policy('anti-affinity'):
        return
    many = collections.Counter(
        hold.node
        for hold, member in rows.promised()
        if member.group_id == group.id
    )
    if many and max(many.values()) > world.MOST:
        raise Violation(f'too many members on one host: {many}')


def _check_hints(here, rows):
    """What is stored of a server points to the member that it is."""
    group = here.life.find(here.uuid)
    if group is None or group.status == states.Group.RELEASING:
        # Its servers keep their hints.
        return
    path = {hold.server_uuid: member.path for hold, member in rows.promised()}
    for server, pointed in here.hints.items():
        if (pointed and pointed.member) != path.get(server):
            raise Violation(f'the hints of {server} are {pointed}')


def _check_books(here, rows):
    """Placement has what the rows say, and what servers were granted."""
    # Nova repairs what its servers have lost later on.
    theirs = here.lost_late & (here.granted - here.gone)
    kept = here.ghosts() - theirs
    if kept:
        raise Violation(f'Placement keeps the amounts of {kept}')
    consumers = here.consumers()
    expected = {
        uuid: {p: each['resources'] for p, each in allocations.items()}
        for uuid, allocations in rows.books().items()
    }
    for server in here.granted - here.gone:
        if server in consumers:
            expected.setdefault(server, consumers[server].allocations)
        elif server in theirs:
            expected.pop(server, None)
        else:
            raise Violation(f'nobody sees what server {server} has')
    # What a resize that Nova has given up brings late to a server that is on
    # no host stays until Nova needs the server's own name again.
    resized = {uuid for (uuid,) in here.tables().execute(_RESIZES)}
    for server in resized & here.life.shelved & consumers.keys():
        expected[server] = consumers[server].allocations
    for uuid in here.strangers:
        expected[uuid] = consumers[uuid].allocations
    there = {uuid: each.allocations for uuid, each in consumers.items()}
    if there != expected:
        raise Violation(f'Placement has {there}, the rows say {expected}')
    for server in here.refused - here.granted:
        if server in consumers:
            raise Violation(f'server {server} was refused and owns something')
