# SPDX-License-Identifier: Apache-2.0
"""From a described group to a held one: the steps 2 to 4.

::

    look ----> decide ----> rehearse ----> hold
     ^            |             |            |
     |         refused,      a filter     somebody
     |        undecided      refuses     was faster
     +------------------- again --------------+
"""

import datetime
import functools
import random
import time

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext import notifications
from nova_groupext import quota
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.planner import problem as planner_problem
from nova_groupext.planner import rules
from nova_groupext.planner.explain import sentences
from nova_groupext.scheduler.decide import rehearsal
from nova_groupext.scheduler.decide import solving
from nova_groupext.scheduler.hold import exclusive
from nova_groupext.scheduler.hold import holding
from nova_groupext.scheduler.look import hosts
from nova_groupext.scheduler.look import look

LOG = logging.getLogger(__name__)

# Seconds by which the longest pause before another attempt grows.
PAUSE = 0.5

UNKNOWN = (
    'No host can take {}: the flavor or image asks for a trait or a resource '
    'class that Placement does not know. Describe another one, or ask the '
    'operator to make it known.'
)

UNSEEN = (
    'No plan was found for what was seen of the cloud, and something was '
    'not: {}. Another try may succeed.'
)

NO_SUCCESS = (
    "Nova's filters, a part of the cloud that did not answer, or other "
    'servers were in the way of every plan; another try may succeed.'
)


class Planning:
    """One group's way from PLANNING to an answer.

    :param client: Nova's SchedulerReportClient
    :param ledger: ledger.Ledger
    :param lease: VRTLease, by which nobody else works on the group
    :param deadline: deadlines.Deadline
    """

    def __init__(self, context, group, client, ledger, lease, deadline):
        self._context = context
        self._group = group
        self._lease = lease
        self._deadline = deadline
        self._client = client
        self._ledger = ledger
        # (class name, host id) pairs that Nova's filters refused.
        self._excluded = set()

    def run(self):
        """Plan the group, hold it if it wants that, and say how it went.

        :raises: GenerationConflict when the group was changed meanwhile, or
            GroupBusy when another planner has taken it over; nothing is held
            then
        :raises: LimitExceeded when the tenant has not so much quota left
        """
        # Also if nothing is to be held: what is told of a group tells how
        # much is free, and may not reach beyond that.
        with self._deadline.stopped():
            quota.check(
                self._context, self._group.project_id, self._group.members
            )
        self._attempt()

    def _attempt(self):
        """Go the whole way, several times if need be."""
        try:
            self._go()
        except exception.OutOfTime as exc:
            self._conclude(states.Group.UNDECIDED, fault=exc.format_message())

    def _go(self):
        for attempt in range(CONF.vrt.planning_attempts):
            if attempt:
                # Whoever was faster is perhaps in the same trouble.
                time.sleep(random.uniform(0, PAUSE * attempt))  # noqa: S311
            self._deadline.go_on()
            seen = self._look()
            answer = self._decide(seen)
            if answer['status'] != VRTPlan.PLACED:
                return self._give_up(seen, answer)
            plan = self._plan(seen, answer)
            if not self._rehearse(seen, self._arriving(plan)):
                continue
            if not self._group.hold:
                return self._conclude(states.Group.PLANNED)
            if self._hold(plan):
                return None
        return self._conclude(
            states.Group.UNDECIDED, fault=self._why_in_vain()
        )

    def _why_in_vain(self):
        """What a tenant is told when every plan had something in its way."""
        return NO_SUCCESS

    def _conclude(self, status, fault=None):
        self._group.change(self._context, status, fault=fault)
        self._tell()

    def _tell(self):
        LOG.info(
            'VRT group %(group)s is %(status)s.',
            {'group': self._group.uuid, 'status': self._group.status},
        )
        notifications.decided(self._context, self._group)

    def _look(self):
        seen = look.look(
            *(self._context, self._group, self._client, self._excluded),
            go_on=self._deadline.go_on,
        )
        self._avoid_failed_hosts(seen, self._group)
        return seen

    def _avoid_failed_hosts(self, seen, group):
        """Leave out, for those like them, the hosts where members failed."""
        old = VRTPlan.newest(self._context, group.id)
        placed = old.hosts() if old else {}
        # Their hosts are as good as any other.
        lost = VRTHold.lost_members(self._context, group.id)
        for member in group.members:
            host = placed.get(member.path)
            has_failed = member.status == states.Member.FAILED
            if has_failed and host and member.id not in lost:
                self._avoid(seen, member.path, host)

    def _avoid(self, seen, path, host):
        """Leave out a host for a member, and for all that are like it."""
        name = seen.class_of.get(path)
        if name:
            self._excluded.add((name, host))
            seen.leave_out(name, host)

    def _decide(self, seen):
        """Return the planner's answer; an old plan that still fits is kept."""
        old = VRTPlan.newest(self._context, self._group.id)
        if old is not None and old.status == VRTPlan.PLACED:
            kept = {
                **old.answer,
                'status': VRTPlan.PLACED,
                'placement': old.hosts(),
            }
            plan = rules.Plan(kept['placement'], kept['alternative'])
            problem = planner_problem.parse(seen.problem)
            if not rules.faults(problem, plan):
                return kept
        return self._solve(seen.problem)

    def _solve(self, problem):
        """Return the planner's answer to a problem of DESIGN section 5."""
        timed = {**problem, 'time_limit': self._deadline.for_deciding()}
        return solving.solve(self._parsed(timed)).to_dict()

    @staticmethod
    def _parsed(problem):
        return planner_problem.parse(problem)

    def _give_up(self, seen, answer):
        """Remember why there is no plan, and call it what it is."""
        status, fault = states.Group.UNDECIDED, None
        if answer['status'] == VRTPlan.REFUSED:
            unseen = [] if self._excluded else seen.blind_spots.find()
            if self._excluded or unseen:
                # Without the hosts that the filters took away, or that were
                # not seen: that proves nothing about the group.
                answer = {**answer, 'status': VRTPlan.UNDECIDED}
                fault = _why_unseen(unseen) or self._why_in_vain()
            else:
                status = states.Group.REFUSED
                fault = _why_nowhere(seen.unknown())
        self._remember(answer, {})
        self._conclude(status, fault=fault)

    def _plan(self, seen, answer):
        """Store the plan, with what Placement is to be asked for."""
        placement = {
            path: self._seat(seen, answer, path, host_id)
            for path, host_id in answer['placement'].items()
        }
        return self._remember(answer, placement)

    def _seat(self, seen, answer, path, host_id):
        host = seen.hosts[host_id]
        ways = seen.class_of_member(path).ways[host_id]
        way = ways[answer['alternative'].get(path, 0)]
        return {
            'host': host.host,
            'node': host.nodename,
            'provider': host.uuid,
            'allocations': way['allocations'],
            'mappings': way['mappings'],
            'domains': hosts.all_domains(host),
        }

    def _remember(self, answer, placement):
        rest = {
            key: value
            for key, value in answer.items()
            if key not in ('status', 'placement')
        }
        plan = VRTPlan(
            group_id=self._group.id,
            status=answer['status'],
            placement=placement,
            answer=rest,
        )
        plan.create(self._context)
        return plan

    def _arriving(self, plan):
        """Return the part of a placement that is new to Nova."""
        return plan.placement

    def _rehearse(self, seen, placement):
        refused = rehearsal.rehearse(
            self._context, seen, placement, self._deadline.go_on
        )
        if refused:
            LOG.info(
                "VRT group %(group)s: Nova's filters refuse %(refused)s",
                {'group': self._group.uuid, 'refused': sorted(refused)},
            )
        self._excluded |= refused
        return not refused

    def _hold(self, plan):
        """Return False when somebody else took the capacity.

        :raises: LimitExceeded when the tenant has not so much quota left
        """
        try:
            fillers = exclusive.fillers(
                self._context, self._ledger, self._group, plan
            )
            with self._deadline.stopped():
                rows = quota.serialised(
                    self._context,
                    self._group.project_id,
                    functools.partial(self._write_down, plan, fillers),
                )
            holding.hold(
                *(self._context, self._ledger, self._lease, rows),
                self._deadline.go_on,
            )
            self._commit(rows)
        except exception.HoldFailed as exc:
            LOG.info(
                'VRT group %(group)s: %(why)s',
                {'group': self._group.uuid, 'why': exc},
            )
            return False
        return True

    def _commit(self, rows):
        """Promise what was held, now that all of it is."""
        expires_at = db.time(self._context) + datetime.timedelta(
            seconds=self._group.expires_in
        )
        try:
            exclusive.refuse_strangers(
                self._context, self._ledger, self._group, rows
            )
            with faultpoints.around('hold.commit'):
                transitions.hold(
                    self._context, self._lease, self._group, rows, expires_at
                )
        except exception.VRTException:
            holding.undo(self._context, self._ledger, rows)
            raise
        self._tell()

    def _write_down(self, plan, fillers):
        """Return new holds of what the tenant has quota for."""
        placed = [
            member
            for member in self._group.members
            if member.path in plan.placement
        ]
        quota.check(self._context, self._group.project_id, placed)
        return holding.write_down(
            self._context, self._lease, placed, plan.placement, fillers
        )


def _why_unseen(reasons):
    """What a tenant is told when not all of the cloud was seen."""
    return UNSEEN.format('; '.join(reasons)) if reasons else None


def _why_nowhere(paths):
    """What a tenant is told of members that no host will ever take."""
    return UNKNOWN.format(sentences.in_a_row(paths)) if paths else None
