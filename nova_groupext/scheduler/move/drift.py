# SPDX-License-Identifier: Apache-2.0
"""Drift: strict policies that members violate on their present hosts.

A forced move, a host in another rack or a removed member may cause drift. It
is stored and shown as long as it lasts; nothing is moved. A group is checked
again when an input of its drift has changed: its rows, the locations of its
members, or the domains of their hosts.
"""

import collections

from oslo_log import log as logging

from nova_groupext.conf import CONF
from nova_groupext.conf import vrt
from nova_groupext.objects import move_transitions
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.move import VRTMove
from nova_groupext.scheduler import availability
from nova_groupext.scheduler.current import definition
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.nova import host_domains
from nova_groupext.solver.model import answers
from nova_groupext.solver.model import violations

LOG = logging.getLogger(__name__)


class ChangedGroups:
    """The groups that were checked for drift, from round to round."""

    def __init__(self):
        # {group id: what its drift depended on when it was checked}
        self._checked = {}

    def store_drift(self, context):
        """Store the drift of the groups that have changed."""
        before, self._checked = self._checked, {}
        rows = VRTGroup.list_for_drift(context)
        if not rows:
            return
        domains = host_domains.Domains(context, vrt.levels(CONF))
        domains.read_all()
        located = _read_locations(context)
        for row in rows:
            here = located[row.id]
            found = row, here, domains.of_hosts({each.host for each in here})
            is_checked = before.get(row.id) == found or availability.run_for(
                row, _check, context, row.uuid, domains
            )
            # A swap in progress has further holds.
            if is_checked and not any(map(_is_exchanging, here)):
                self._checked[row.id] = found


def _read_locations(context):
    """Return {group id: set of rows, each of them a location of a member}."""
    located = collections.defaultdict(set)
    for row in (
        *VRTHold.list_locations(context),
        *VRTMove.list_locations(context),
    ):
        located[row.group_id].add(row)
    return located


def _is_exchanging(location):
    return location.status == states.Hold.EXCHANGING


def _check(context, group_uuid, domains):
    group = VRTGroup.find(context, group_uuid)
    if group is not None:
        store(context, group, domains)


def store(context, group, domains):
    """Store the strict policies that a group violates at present.

    :param group: VRTGroup
    :param domains: host_domains.Domains
    """
    drift = _find_violations(context, group, domains)
    if drift != (group.drift or []) and move_transitions.store_drift(
        context, group, drift
    ):
        LOG.info(
            'VRT group %(group)s: violated policies: %(drift)s',
            {'group': group.uuid, 'drift': drift or 'none'},
        )


def _find_violations(context, group, domains):
    """Return [{at, policy}] of the violated strict policies.

    Of exclusive policies only violations by the group itself:
    maintain.maintain() logs foreign consumers in their domains.
    """
    tree = definition.read(group)
    present = locations.read(context, group)
    problem = definition.policy_problem(tree, domains, present.host_names)
    placement = {
        path: location.node for path, location in present.locations.items()
    }
    return [
        {'at': policy.at, 'policy': answers.identify(policy)}
        for policy in tree.policies
        if policy.strict and violations.is_violated(problem, policy, placement)
    ]
