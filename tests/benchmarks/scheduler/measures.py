# SPDX-License-Identifier: Apache-2.0
"""Operations on a populated cloud, measured side by side."""

import contextlib
import dataclasses
import gc
import time

import fixtures
from nova import context as nova_context
from nova import objects
from nova.scheduler import manager as nova_manager
from nova.scheduler.client import report

from nova_groupext.conf import CONF
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import manager
from nova_groupext.scheduler import planner
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler.decide import strategy
from nova_groupext.scheduler.look import kept_reading
from nova_groupext.scheduler.look import look
from nova_groupext.scheduler.placement import client
from tests.benchmarks.scheduler import cloud as clouds
from tests.benchmarks.scheduler import counting
from tests.benchmarks.scheduler import groups
from tests.benchmarks.scheduler import naive
from tests.benchmarks.scheduler import shapes

MEMBERS = 30
RUNS = 3

# A larger group, for clouds in which the policy of racks allows it.
MORE_MEMBERS = 100
MORE_MEMBERS_FROM = 1000

# Seconds for another host; more than a server waits, to tell how long it is.
REPLACEMENT_LIMIT = 60


class NotHeld(Exception):
    """A group has not become HELD; the text has its status and fault."""


class Bench:
    """Schedulers and a planner of one populated cloud.

    :param cloud: cloud.PopulatedCloud
    :ivar deciding: seconds of all decisions of the solver
    """

    def __init__(self, cloud):
        self.cloud = cloud
        self.deciding = 0.0
        self.context = nova_context.get_admin_context()
        with fixtures.MonkeyPatch(
            'nova.scheduler.host_manager.HostManager._init_instance_info',
            self._fill_instance_info,
        ):
            objects.Service.enable_min_version_cache()
            self.stock = nova_manager.SchedulerManager()
            self.ours = manager.HolisticSchedulerManager()
        # Each worker makes its own with its first request.
        self.ours.placement_client  # noqa: B018
        self.planner = planner.Planner('bench', self._tools)
        self.planner.begin(self.context)
        self.placement = client.PlacementClient(report.SchedulerReportClient())

    def _fill_instance_info(self, host_manager, computes_by_cell=None):
        """Fill in all servers, of which the computes' messages would tell."""
        host_manager._instance_info = {
            host.name: {
                'instances': {
                    uuid: objects.Instance(self.context, uuid=uuid)
                    for uuid, _flavor in host.servers
                },
                'updated': True,
            }
            for host in self.cloud.hosts
        }

    def _tools(self, placement_client):
        """Return the planner's usual tools, with a clock at the solver."""
        tools = strategy.Tools(placement_client)

        def solve(problem):
            began = time.monotonic()
            answer = tools.solve(problem)
            self.deciding += time.monotonic() - began
            return answer

        return dataclasses.replace(tools, solve=solve)

    # -- looks -------------------------------------------------------------

    def look(self, group, *, may_be_old=False):
        """Return (Counts, Snapshot) of a look for a group.

        :param may_be_old: whether to start from what the planner keeps
        """
        gc.collect()
        with counting.counting() as counts:
            seen = look.look(
                *(self.context, group, self.placement),
                kept=self.planner.kept,
                may_be_old=may_be_old,
            )
        return counts, seen

    def naive_look(self):
        """Return (Counts, [naive.Found]) of three classes, one by one."""
        specs = [
            groups.spec(self.context, groups.resolved_request(name, zone))
            for name, zone in groups.CLASSES
        ]
        gc.collect()
        with counting.counting() as counts:
            found = [
                naive.look(self.context, self.stock, each) for each in specs
            ]
        return counts, found

    # -- groups ------------------------------------------------------------

    def hold(self, members, **values):
        """Hold a group; return (Counts, VRTGroup).

        :raises: NotHeld
        """
        group = groups.describe(self.context, members, **values)
        with counting.counting() as counts:
            self.planner.serve_group(self.context, group.uuid)
        group = VRTGroup.get(self.context, group.uuid)
        if group.status != 'HELD':
            raise NotHeld(f'{group.status}: {group.fault}')
        return counts, group

    def hold_in_parts(self, members):
        """Hold a group, and tell what nobody could leave out.

        :returns: (Counts, Counts of the decision and the POSTs alone)
        """
        before = self.deciding
        counts, _group = self.hold(members)
        needed = self.deciding - before + counts.posting
        return counts, counting.Counts(seconds=needed)

    def replace(self, group, path, *, keeps_reading):
        """Find another host for a member; return the Counts.

        :param keeps_reading: whether the planner keeps what it has read
        """
        if not keeps_reading:
            self.planner.kept = kept_reading.KeptReading()
        [member] = [each for each in group.members if each.path == path]
        holds = VRTHold.redeemable_by_member(self.context, [member.id])
        with counting.counting() as counts:
            outcome = self.planner.replace_members(
                *(self.context, group.uuid, {path: [holds[member.id].node]}),
                REPLACEMENT_LIMIT,
            )
        if outcome != rpcapi.Outcome.DONE:
            raise RuntimeError(outcome)
        return counts

    def release(self, group):
        """Delete a group; return the Counts of its release."""
        group.mark_deleted(self.context)
        with counting.counting() as counts:
            self.planner.serve_group(self.context, group.uuid)
        return counts

    def reap(self):
        """Return the Counts of one of each round, without heartbeats."""
        gc.collect()
        with counting.counting() as counts:
            for work in (
                self.planner.reap,
                self.planner.release,
                self.planner.replace_failed,
                self.planner.maintain_exclusive,
            ):
                work(self.context)
        return counts

    # -- servers -----------------------------------------------------------

    def create(self):
        """Return the Counts of stock Nova's part of one create."""
        return self._select(self.stock, groups.resolved_request('m1'))

    def create_beside(self):
        """Return the Counts of an ordinary create through our manager."""
        return self._select(self.ours, groups.resolved_request('m1'))

    def redeem(self, group, path):
        """Return the Counts of our scheduler's part of a member's create."""
        [member] = [each for each in group.members if each.path == path]
        return self._select(
            self.ours,
            member.current_request,
            {'vrt_group': group.uuid, 'vrt_member': path},
        )

    def _select(self, scheduler, request, hints=None):
        spec = groups.spec(self.context, request, hints)
        uuid = spec.instance_uuid = groups.create_server(self.context)
        gc.collect()
        with counting.counting() as counts:
            scheduler.select_destinations(
                self.context,
                spec_obj=spec,
                instance_uuids=[uuid],
                return_objects=True,
                return_alternates=True,
            )
        return counts


def measure(shape, size):
    """Measure all operations on one cloud.

    :returns: {operation: ([Counts of its runs], operation to compare it with)}
    """
    with clouds.PopulatedCloud(shapes.SHAPES[shape], size) as populated:
        bench = Bench(populated)
        # The first look of a process shows how much memory it needs.
        first_look, _seen = bench.look(groups.describe(bench.context, MEMBERS))
        # A first create loads what the others need.
        bench.create()
        found = {
            'naive look': (repeat(lambda: bench.naive_look()[0]), None),
            'create by stock Nova': (repeat(bench.create), None),
            'create beside us': (
                repeat(bench.create_beside),
                'create by stock Nova',
            ),
        }
        holds, held = zip(
            *(bench.hold(MEMBERS) for _run in range(RUNS)), strict=True
        )
        looks = repeat(lambda: bench.look(held[0])[0])
        looks[-1].memory = first_look.memory
        found['look'] = looks, 'naive look'
        found['look again'] = (
            repeat(lambda: bench.look(held[0], may_be_old=True)[0]),
            'naive look',
        )
        found['hold'] = [*holds], 'naive look'
        # The first round reads all providers with holds.
        bench.reap()
        found['idle reaper'] = repeat(bench.reap), None
        paths = [member.path for member in held[0].members][: RUNS + 1]
        redeems = [bench.redeem(held[0], path) for path in paths]
        # The first one reads the group's definition.
        found['redeem'] = redeems[1:], 'create by stock Nova'
        paths = [member.path for member in held[1].members][:RUNS]
        with _overcommitment_excluded():
            found['redeem without verification'] = (
                [bench.redeem(held[1], path) for path in paths],
                'create by stock Nova',
            )
        for name, keeps_reading in (
            ('another host', False),
            ('another host again', True),
        ):
            found[name] = (
                [
                    bench.replace(held[2], path, keeps_reading=keeps_reading)
                    for path in paths
                ],
                'naive look',
            )
        if size >= MORE_MEMBERS_FROM:
            bench.hold(MORE_MEMBERS)
            more, parts = zip(
                *(bench.hold_in_parts(MORE_MEMBERS) for _run in range(RUNS)),
                strict=True,
            )
            found['its decision and POSTs'] = [*parts], None
            found[f'hold of {MORE_MEMBERS}'] = (
                [*more],
                'its decision and POSTs',
            )
        found['release'] = [bench.release(each) for each in held[1:]], 'hold'
        return found


@contextlib.contextmanager
def _overcommitment_excluded():
    """Say during a ``with`` block what Placement's operator has set."""
    CONF.set_override('placement_excludes_overcommit', True, 'vrt')
    try:
        yield
    finally:
        CONF.clear_override('placement_excludes_overcommit', 'vrt')


def repeat(work):
    """Return the results of some runs."""
    return [work() for _run in range(RUNS)]
