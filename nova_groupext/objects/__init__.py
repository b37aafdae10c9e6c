# SPDX-License-Identifier: Apache-2.0
"""Versioned objects shared by the API, the planner and the scheduler.

::

    VRTGroup --< VRTMemberSet, VRTPolicy, ...           the definition
             --< VRTMember                              the servers
             --< VRTPlan                                member -> host
             --< VRTHold                                Placement allocations
             --< VRTMove                                servers that move
             --- VRTLease >-- VRTPlanner                who works on it now
             --- VRTProposal                            moves that repair it
             --- VRTBoot                                creation of servers
             --< VRTEvent                               history

An object of one row is in the module of its name; others hold

===============  ============================================================
queries          group_queries, hold_queries, member_queries, quota_queries,
                 work_queries, listing, related, sql_conditions
transactions     transitions (hold a group), redeems, releases, drafts,
                 revisions, swaps, swap_results, adoptions, definitions,
                 move_transitions, placeholder_holds, watched_holds, hold_ages,
                 renames
values           states, aliases, member_placement, topology
===============  ============================================================
"""

from nova_groupext.objects.boot import VRTBoot
from nova_groupext.objects.event import VRTEvent
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.lease import VRTLease
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.member_set import VRTMemberSet
from nova_groupext.objects.move import VRTMove
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.objects.planners import VRTPlanner
from nova_groupext.objects.policy import VRTPolicy
from nova_groupext.objects.policy import VRTRelationship
from nova_groupext.objects.proposal import VRTProposal

__all__ = [
    'VRTBoot',
    'VRTEvent',
    'VRTGroup',
    'VRTHold',
    'VRTLease',
    'VRTMember',
    'VRTMemberSet',
    'VRTMove',
    'VRTPlan',
    'VRTPlanner',
    'VRTPolicy',
    'VRTProposal',
    'VRTRelationship',
]
