# SPDX-License-Identifier: Apache-2.0
"""Planners and schedulers that use only Placement and our tables.

The descriptions of the members name their hosts; all code that writes is the
product's own.
"""

import dataclasses
import types

from keystoneauth1 import exceptions as ks_exc
from nova import exception as nova_exc

from nova_groupext.objects import drafts
from nova_groupext.objects.member_placement import MemberPlacement
from nova_groupext.scheduler import manager
from nova_groupext.scheduler.current import current_holds
from nova_groupext.scheduler.current import own_capacity
from nova_groupext.scheduler.decide import strategy
from nova_groupext.scheduler.look import snapshot
from nova_groupext.solver.model import answers
from nova_groupext.solver.model import problems


def describe_hosts(group, current):
    """Return the placement that each member of a group describes."""
    return lambda member: MemberPlacement(
        **member.described.description['placements'][member.path]
    )


class FixedPlan:
    """Tools of decisions in a cloud that offers each member one host only.

    Servers stay on their hosts. Servers are adopted only on the described
    hosts. Held members keep their hosts if a server is not as described.

    :param wishes: function of a group and its CurrentHolds that returns a
        function of a member, which returns its placement
    """

    def __init__(self, wishes=describe_hosts):
        self._wishes = wishes

    def __call__(self, placement_client):
        return strategy.Tools(
            placement_client,
            look=self._look,
            solve=_place,
            rehearse=lambda *_args: set(),
        )

    def _look(
        self,
        context,
        group,
        placement_client,
        excluded,
        current=current_holds.NO_HOLDS,
        check_deadline=None,
        kept=None,
        may_be_old=False,
    ):
        wish = self._wishes(group, current)
        wishes = {member.path: wish(member) for member in group.members}
        moved = {
            path
            for path, server in current.servers.items()
            if path in wishes and server.node != wishes[path].node
        }
        if moved & drafts.servers_to_adopt(group).keys():
            raise group.conflict('a server is elsewhere')
        stay = {**(current.held if moved else {}), **current.servers}
        wishes.update(
            (path, hold.placement({}))
            for path, hold in stay.items()
            if path in wishes
        )
        return _snapshot(group, current, wishes, excluded)


def _snapshot(group, current, wishes, excluded):
    """Return the snapshot.Snapshot of a cloud that offers these placements."""
    barred = {path: {node} for path, node in excluded}
    holds = [*current.held.values(), *current.reservations.values()]
    others = [hold.placement({}) for hold in holds]
    hosts = {
        each.node: types.SimpleNamespace(
            host=each.host,
            nodename=each.node,
            uuid=each.provider,
            aggregates=[],
        )
        for each in (*wishes.values(), *others)
    }
    return snapshot.Snapshot(
        problem=problems.parse(
            {
                'version': 1,
                'levels': ['host'],
                'hosts': [{'id': node} for node in hosts],
                'classes': {
                    path: {
                        'request': {},
                        'hosts': list({each.node} - barred.get(path, set())),
                    }
                    for path, each in wishes.items()
                },
                'topology': {
                    'members': {path: {'class': path} for path in wishes},
                    'policies': [each.definition for each in group.policies],
                },
                'pinned': {
                    path: server.node
                    for path, server in current.servers.items()
                    if path in wishes
                },
            }
        ),
        hosts=hosts,
        classes={path: _class(path, each) for path, each in wishes.items()},
        class_of={path: path for path in wishes},
        gaps=types.SimpleNamespace(find=list),
        host_manager=None,
    )


def _class(path, wish):
    """Return the snapshot.MemberClass of one member."""
    return snapshot.MemberClass(
        name=path,
        spec=None,
        request=own_capacity.total_amounts(wish.allocations),
        candidates={wish.node: [dataclasses.asdict(wish)]},
    )


def _place(problem):
    """Place all members, unless one is fixed where it should not be."""
    placement = {}
    for path, member_class in problem.class_of.items():
        if not member_class.hosts:
            return answers.Answer('refused')
        [host] = member_class.hosts
        if problem.pinned.get(path, host) != host:
            return answers.undecided({})
        placement[path] = host
    return answers.Answer('placed', placement=placement, cost={'soft': 0.0})


class Scheduler(manager.HolisticSchedulerManager):
    """Redeem path, without Nova's filters behind it."""

    host_manager = None

    def __init__(self, client):
        self._placement_client = client

    def _select_held(self, context, spec, server_uuid, hold):
        return hold

    def _selection(self, context, spec, hold):
        return hold


class RejectingFilters(Scheduler):
    """A scheduler whose filters reject every host."""

    def _select_held(self, context, spec, server_uuid, hold):
        raise nova_exc.NoValidHost(reason='a filter refuses')


class Client(manager.RedeemingReportClient):
    """Nova's client of Placement, which may lose an answer."""

    def __init__(self, adapter, deployment):
        super().__init__(adapter)
        self._deployment = deployment

    def post(self, *args, **kwargs):
        response = super().post(*args, **kwargs)
        if self._deployment.loses_next_answer:
            self._deployment.loses_next_answer = False
            raise ks_exc.ConnectFailure('a cable was cut')
        return response
