# SPDX-License-Identifier: Apache-2.0
"""Findings of an audit."""

import contextlib
import dataclasses
import enum

from nova_groupext import exception
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.lease import VRTLease


class Kind(enum.StrEnum):
    """Kind of a finding."""

    # A hold owns nothing in Placement, or other resources than its row says.
    MISSING = 'missing'
    MISMATCH = 'mismatch'
    # A RELEASED hold that owns an allocation: a request arrived late.
    REFILLED = 'refilled'
    # An allocation with VRT consumer type and without a row, not even that of
    # a released hold: another installation on the same Placement may own it.
    ORPHAN = 'orphan'
    # Work that the reaper should have finished long ago.
    OVERDUE = 'overdue'
    # A member's server owns nothing in Placement.
    SERVER_WITHOUT_ALLOCATION = 'server-without-allocation'
    # Nova does not know a member's server, which owns capacity.
    UNKNOWN_SERVER = 'unknown-server'
    # A provider is overcommitted, and a hold has to be released.
    OVERCOMMITTED = 'overcommitted'
    # The rows of a member and of its holds are inconsistent.
    INCONSISTENT = 'inconsistent'
    # Placement or a cell did not answer: the state is unknown, no repair.
    UNKNOWN = 'unknown'


@dataclasses.dataclass(frozen=True)
class Finding:
    """One difference; equal to another finding about the same objects."""

    kind: Kind
    text: str = dataclasses.field(compare=False)
    group: str | None = None
    member: str | None = None
    # Consumer in Placement: uuid of a hold, a server or a foreign one.
    consumer: str | None = None
    provider: str | None = None


class Findings:
    """The findings of one audit so far.

    The leases and the groups are read now, before any hold.
    """

    def __init__(self, context):
        self._leased = VRTLease.leased_groups(context)
        self._groups = VRTGroup.uuids(context)
        self._findings = []

    def add(self, kind, text, hold=None, member=None, **about):
        """Add a finding.

        :param hold: VRTHold that it is about, if any
        :param member: VRTMember that it is about, if any
        :param about: further values of the Finding
        """
        if hold is not None:
            about = {
                'consumer': hold.uuid,
                'provider': hold.provider_uuid,
                **about,
            }
        if member is not None:
            about['group'] = self._groups.get(member.group_id)
            about['member'] = member.path
        self._findings.append(Finding(kind, text, **about))

    @contextlib.contextmanager
    def unknown_if_unavailable(self, hold=None, member=None, **about):
        """Add a finding when Placement does not answer, and continue."""
        try:
            yield
        except exception.PlacementUnavailable as exc:
            self.add(Kind.UNKNOWN, exc.format_message(), hold, member, **about)

    def list(self):
        """Return [Finding], without groups that a planner works on.

        Findings without a group are always among them.
        """
        leased = {
            self._groups[group_id]
            for group_id in self._leased & self._groups.keys()
        }
        # A provider that does not answer may have been queried twice.
        unique = dict.fromkeys(self._findings)
        return [each for each in unique if each.group not in leased]
