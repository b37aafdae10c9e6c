# SPDX-License-Identifier: Apache-2.0
"""Fuzzing of ``nova-groupext-plan``: an answer or an error message.

The files are valid ones with changes in their values or bytes.
"""

import contextlib
import copy
import io
import json
import tempfile
import unittest

import hypothesis
from hypothesis import strategies

from nova_groupext.cmd import plan
from nova_groupext.solver.model import problems
from nova_groupext.solver.verify import answer_schema
from nova_groupext.solver.verify import verify
from tests import shares
from tests.property import mutants
from tests.property import random_problems


@strategies.composite
def files(draw):
    """The bytes of a problem file with random mutations."""
    names = strategies.sampled_from(sorted(random_problems.PROFILES))
    seed = draw(strategies.integers(0, 50))
    raw = copy.deepcopy(random_problems.seeded(draw(names), seed))
    raw['time_limit'] = 1
    for _ in range(draw(strategies.integers(0, 2))):
        mutants.change(draw, raw)
    data = json.dumps(raw).encode()
    if draw(strategies.integers(0, 4)) == 0:
        place = draw(strategies.integers(0, len(data)))
        other = draw(strategies.binary(max_size=3))
        data = data[:place] + other + data[place + 1 :]
    return data


class PlanCommandTest(unittest.TestCase):
    @shares.with_share_of_examples(60)
    @hypothesis.given(files())
    def test_any_file_is_answered_or_refused_as_bad_input(self, data):
        stdout, stderr = io.StringIO(), io.StringIO()
        with (
            tempfile.NamedTemporaryFile() as file,
            contextlib.redirect_stdout(stdout),
            contextlib.redirect_stderr(stderr),
        ):
            file.write(data)
            file.flush()
            status = plan.main([file.name])
        hypothesis.event(f'status {status}')
        if status == 2:
            self.assertEqual('', stdout.getvalue())
            self.assertRegex(stderr.getvalue(), r'\A\$[ -~]*: [ -~]+\n\Z')
        else:
            answer = json.loads(stdout.getvalue())
            expected = ('placed', 'refused', None, 'undecided')[status]
            self.assertEqual(
                (expected, ''), (answer['status'], stderr.getvalue())
            )
            problem = problems.parse(problems.load(data))
            found = list(verify.findings(problem, answer_schema.parse(answer)))
            self.assertEqual([], [each for each in found if each.is_error])
            self.assertNotIn('reason', answer['stats'])
