# SPDX-License-Identifier: Apache-2.0
"""Operations of the protocol, and their preparations.

Each operation stands for a process: an API, a scheduler or a planner. Of the
reaper an operation runs one step, because a whole round has too many.
"""

from collections.abc import Callable
import dataclasses

from oslo_utils import timeutils

from nova_groupext.scheduler import availability
from nova_groupext.scheduler.follow import hold_changes
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.reap import reaper
from tests.protocol import interleaving
from tests.protocol import simulated_cloud
from tests.services import deployment

ServerOutcome = simulated_cloud.ServerOutcome


@dataclasses.dataclass(frozen=True)
class Operation:
    """An operation on the group of a SimulatedCloud.

    :ivar work: function of a SimulatedCloud
    :ivar prepare: function of a SimulatedCloud that is called before the
        runs, or None
    :ivar is_held: whether the group is held before the preparation
    :ivar partners: names of the operations in pairs with this one, None for
        all; random triples ignore it
    :ivar is_exclusive: whether the group has exclusive hosts
    :ivar has_draft: whether the preparation creates a draft; a group has one
        draft at a time, so two such operations are never a pair
    """

    work: Callable
    prepare: Callable | None = None
    is_held: bool = True
    partners: tuple | None = None
    is_exclusive: bool = False
    has_draft: bool = False


def _release(cloud):
    cloud.deployment.request_release(cloud.uuid, 'm-0')
    cloud.deployment.release(cloud.uuid)


def _request_release(cloud):
    cloud.deployment.request_release(cloud.uuid, 'm-0')
    reaper.release_ending(
        cloud.deployment.context, cloud.deployment.placement_client()
    )


def _run_step(cloud, step):
    """Run one step of the reaper, as a planner does."""
    availability.run_step(
        step,
        cloud.deployment.context,
        cloud.deployment.placement_client(),
        cloud.deployment.leases(),
    )


def _follow(cloud):
    _run_step(cloud, server_changes.follow_servers)


def _rehold(cloud):
    _run_step(cloud, hold_changes.follow_holds)


def _expire(cloud):
    reaper.expire(cloud.deployment.context)
    reaper.release_ending(
        cloud.deployment.context, cloud.deployment.placement_client()
    )


def _take_over(cloud):
    """Run another planner after all leases have expired."""
    cloud.record_access(writes={interleaving.TIME})
    timeutils.advance_time_seconds(deployment.LATER)
    other = cloud.deployment.planner()
    other.beat(cloud.deployment.context)
    for member in redeem.list_overdue(cloud.deployment.context):
        availability.run_step(
            reaper.resolve_redeem,
            cloud.deployment.context,
            cloud.deployment.placement_client(),
            member,
        )
    other.serve_waiting(cloud.deployment.context)


def _shelve(cloud):
    cloud.run_server('m-2')
    cloud.shelve_server('m-2')
    _follow(cloud)


def _start_growing_full_group(cloud):
    for path in ('m-0', 'm-1', 'm-2'):
        cloud.run_server(path)
    cloud.start_growing('m-3')


def _grow(cloud):
    _start_growing_full_group(cloud)
    cloud.deployment.plan(cloud.uuid)


def _succeed(cloud):
    cloud.start_replacing('m-2')
    cloud.deployment.plan(cloud.uuid)


OPERATIONS = {
    'hold': Operation(
        lambda cloud: cloud.deployment.plan(cloud.uuid), is_held=False
    ),
    'redeem': Operation(lambda cloud: cloud.redeem('m-0', 'one')),
    # With other operations, these two do the same as the first one.
    'redeem again': Operation(
        lambda cloud: cloud.redeem('m-0', 'one'), partners=('redeem',)
    ),
    'redeem another': Operation(
        lambda cloud: cloud.redeem('m-0', 'another'), partners=('redeem',)
    ),
    'redeem two': Operation(
        lambda cloud: cloud.redeem_all('m', ['two', 'three'])
    ),
    'revise': Operation(
        lambda cloud: cloud.plan_draft(),
        prepare=lambda cloud: cloud.create_draft(),
        has_draft=True,
    ),
    'describe': Operation(lambda cloud: cloud.create_draft()),
    'drop': Operation(
        lambda cloud: cloud.plan_draft(),
        prepare=lambda cloud: cloud.create_draft_dropping(),
        has_draft=True,
    ),
    'release': Operation(_release),
    'delete': Operation(lambda cloud: cloud.deployment.delete(cloud.uuid)),
    # The planner that had the leases may only have paused.
    'take over': Operation(_take_over),
    'reclaim': Operation(
        _follow,
        prepare=lambda cloud: cloud.end_server(
            'm-1', ServerOutcome.UNSCHEDULED
        ),
    ),
    'follow': Operation(
        _follow,
        prepare=lambda cloud: cloud.end_server('m-1', ServerOutcome.DELETED),
    ),
    'move': Operation(
        lambda cloud: cloud.move_server('m-2'),
        prepare=lambda cloud: cloud.run_server('m-2'),
    ),
    'shelve': Operation(
        _shelve, prepare=lambda cloud: cloud.run_server('m-2')
    ),
    'unshelve': Operation(
        lambda cloud: cloud.move_server('m-2'), prepare=_shelve
    ),
    'resize': Operation(
        lambda cloud: cloud.resize_server('m-2'),
        prepare=lambda cloud: cloud.reserve_resize('m-2'),
    ),
    'adopt': Operation(
        lambda cloud: cloud.plan_draft(),
        prepare=lambda cloud: cloud.create_draft_adopting(),
        has_draft=True,
    ),
    'adopt and swap': Operation(
        lambda cloud: cloud.plan_draft(),
        prepare=lambda cloud: cloud.create_draft_adopting(
            **{'m-0': cloud.small_provider, 'm-2': cloud.large_provider}
        ),
        has_draft=True,
    ),
    'move adopted': Operation(
        lambda cloud: cloud.move_foreign_server(),
        prepare=lambda cloud: cloud.create_draft_adopting(),
        partners=('adopt', 'adopt and swap', 'take over', 'delete'),
    ),
    'rename': Operation(
        lambda cloud: cloud.deployment.plan(cloud.uuid),
        prepare=lambda cloud: cloud.start_growing('m-3'),
    ),
    'grow': Operation(
        lambda cloud: cloud.deployment.plan(cloud.uuid),
        prepare=_start_growing_full_group,
    ),
    'succeed': Operation(
        lambda cloud: cloud.deployment.plan(cloud.uuid),
        prepare=lambda cloud: cloud.start_replacing('m-2'),
    ),
    'give up': Operation(
        lambda cloud: cloud.give_up_creates(),
        partners=('rename', 'grow', 'succeed', 'redeem grown'),
    ),
    'redeem grown': Operation(
        lambda cloud: cloud.redeem_created('m-3'), prepare=_grow
    ),
    'redeem successor': Operation(
        lambda cloud: cloud.redeem_created('m-2'), prepare=_succeed
    ),
    'rehold': Operation(
        _rehold, prepare=lambda cloud: cloud.remove_hold('m-0')
    ),
    # It has too many steps to explore all interleavings.
    'reap': Operation(lambda cloud: cloud.deployment.reap(), partners=()),
    # Last, because an expired group permits no other preparation.
    'expire': Operation(
        _expire, prepare=lambda cloud: cloud.deployment.expire(cloud.uuid)
    ),
}

# Operations that may change placeholders.
_SHARED_WITH_EXCLUSIVE = (
    *('hold', 'redeem', 'redeem two', 'revise', 'release', 'delete'),
    *('take over', 'reclaim', 'follow', 'rehold'),
)

# Operations on a group with exclusive hosts. The steps of the reaper and the
# maintenance of placeholders are separate operations.
EXCLUSIVE_OPERATIONS = {
    **{name: OPERATIONS[name] for name in _SHARED_WITH_EXCLUSIVE},
    'maintain': Operation(lambda cloud: cloud.deployment.maintain_exclusive()),
    'request release': Operation(_request_release),
    'delete server': Operation(
        lambda cloud: cloud.delete_server('m-1'),
        prepare=lambda cloud: cloud.end_server(
            'm-1', ServerOutcome.UNSCHEDULED
        ),
    ),
    'add capacity': Operation(lambda cloud: cloud.add_capacity()),
    'claim': Operation(lambda cloud: cloud.claim_foreign()),
    'expire': OPERATIONS['expire'],
}

OPERATIONS |= {
    f'exclusive {name}': dataclasses.replace(each, is_exclusive=True)
    for name, each in EXCLUSIVE_OPERATIONS.items()
}


def is_pair(one, other):
    """Check whether two operations are explored together."""
    operations = [OPERATIONS[one], OPERATIONS[other]]
    names = (other, one)
    if operations[0].is_exclusive != operations[1].is_exclusive:
        return False
    if one != other and all(each.has_draft for each in operations):
        return False
    return (
        all(each.is_held for each in operations)
        or not any(each.prepare for each in operations)
    ) and all(
        each.partners is None or name in each.partners
        for each, name in zip(operations, names, strict=True)
    )
