# SPDX-License-Identifier: Apache-2.0
"""Planners and schedulers that ask nobody but Placement and our tables.

Who plans is told where everybody sits; everything that writes is the
product's own.
"""

from keystoneauth1 import exceptions as ks_exc
from nova import exception as nova_exc

from nova_groupext import objects
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.scheduler import manager
from nova_groupext.scheduler.current import current_holds
from nova_groupext.scheduler.decide import planning
from nova_groupext.scheduler.decide import revising


class Seating:
    """Seats every member where its description says, but for servers."""

    _standing = current_holds.NOTHING

    def _decide(self, seen):
        return {'status': objects.VRTPlan.PLACED}

    def _plan(self, seen, answer):
        return self._remember(
            answer,
            {
                member.path: self._seat_of(member)
                for member in self._group.members
                if member.status == states.Member.TENTATIVE
            },
        )

    def _rehearse(self, seen, plan):
        return True

    def _seat_of(self, member):
        server = self._standing.servers.get(member.path)
        return server.seat({}) if server else self._wish(member)

    def _wish(self, member):
        return member.description['seat']


class Planning(Seating, planning.Planning):
    pass


class Revising(Seating, revising.Revising):
    """Adopts servers where they are described, and nowhere else."""

    def _decide(self, seen):
        adopted = revisions.adopted(self._group)
        for member in self._group.members:
            if member.path in adopted:
                server = self._standing.servers[member.path]
                if server.node != self._wish(member)['node']:
                    raise self._group.conflict('a server is elsewhere')
        return super()._decide(seen)

    def _seat_of(self, member):
        """Who is held stays where it is if a server is where it was to go."""
        held = self._standing.held.get(member.path)
        return (
            held.seat({})
            if held and self._stays()
            else super()._seat_of(member)
        )

    def _stays(self):
        """Tell whether a server is somewhere else than it is described."""
        wishes = {each.path: self._wish(each) for each in self._group.members}
        return any(
            server.node != wishes[path]['node']
            for path, server in self._standing.servers.items()
            if path in wishes
        )


class Scheduler(manager.HolisticSchedulerManager):
    """The redeem door, without Nova's filters behind it."""

    host_manager = None

    def __init__(self, client):
        self._placement_client = client

    def _select_held(self, context, spec, server_uuid, hold):
        return hold

    def _selection(self, context, spec, hold):
        return hold


class Refusing(Scheduler):
    """Its filters let nobody through."""

    def _select_held(self, context, spec, server_uuid, hold):
        raise nova_exc.NoValidHost(reason='a filter refuses')


class Client(manager.RedeemingReportClient):
    """Nova's client of Placement, that may not hear an answer."""

    def __init__(self, adapter, life):
        super().__init__(adapter)
        self._life = life

    def post(self, *args, **kwargs):
        answer = super().post(*args, **kwargs)
        if self._life.loses_answer:
            self._life.loses_answer = False
            raise ks_exc.ConnectFailure('a cable was cut')
        return answer
