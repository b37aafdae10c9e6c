# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/audit/findings.py``."""

from nova_groupext import exception
from nova_groupext.scheduler.audit import findings
from tests.unit.scheduler import base

Kind = findings.Kind


class TestFindings(base.ProtocolTestCase):
    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held()
        self.hold = self.deployment.hold(self.uuid, 'm-0')
        self.member = self.deployment.member(self.uuid, 'm-0')

    def test_finding_names_what_it_is_about(self):
        found = findings.Findings(self.context)

        found.add(Kind.MISSING, 'a text', self.hold, self.member)

        [finding] = found.list()
        self.assertEqual(
            findings.Finding(
                Kind.MISSING,
                'another text',
                group=self.uuid,
                member='m-0',
                consumer=self.hold.uuid,
                provider=self.provider,
            ),
            finding,
        )

    def test_equal_findings_are_one(self):
        found = findings.Findings(self.context)
        for _query in range(2):
            found.add(Kind.UNKNOWN, 'a text', provider=self.provider)

        self.assertEqual(1, len(found.list()))

    def test_group_that_a_planner_works_on_is_left_out(self):
        self.acquire_lease(self.uuid)
        found = findings.Findings(self.context)

        found.add(Kind.MISSING, 'a text', self.hold, self.member)
        found.add(Kind.ORPHAN, 'a text', consumer=self.hold.uuid)

        self.assertEqual([Kind.ORPHAN], [each.kind for each in found.list()])

    def test_silent_placement_is_a_finding(self):
        found = findings.Findings(self.context)

        with found.unknown_if_unavailable(self.hold, self.member):
            raise exception.PlacementUnavailable(reason='a test')

        [finding] = found.list()
        self.assertEqual(
            (Kind.UNKNOWN, self.uuid), (finding.kind, finding.group)
        )
        self.assertIn('a test', finding.text)
