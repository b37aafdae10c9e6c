# SPDX-License-Identifier: Apache-2.0
"""Typed, versioned objects: what the API, the planner and the scheduler share.

::

    VRTGroup --< VRTMember, VRTPolicy, VRTRelationship    the definition
             --< VRTPlan                                  member -> host
             --< VRTHold                                  in Placement's ledger
             --< VRTMove                                  between two hosts
             --- VRTLease >-- VRTPlanner                  who works on it now
             --- VRTProposal                              what mends it
             --- VRTBoot                                  its servers, created
"""

from nova_groupext.objects.boot import VRTBoot
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.lease import VRTLease
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.move import VRTMove
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.objects.planners import VRTPlanner
from nova_groupext.objects.policy import VRTPolicy
from nova_groupext.objects.policy import VRTRelationship
from nova_groupext.objects.proposal import VRTProposal

__all__ = [
    'VRTBoot',
    'VRTGroup',
    'VRTHold',
    'VRTLease',
    'VRTMember',
    'VRTMove',
    'VRTPlan',
    'VRTPlanner',
    'VRTPolicy',
    'VRTProposal',
    'VRTRelationship',
]
