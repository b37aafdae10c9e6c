# SPDX-License-Identifier: Apache-2.0
"""Whatever it is given, ``nova-groupext-plan`` answers or says what is wrong.

Files are right ones in which something was changed, in their values or in
their bytes.
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
from nova_groupext.solver.verify import shape
from nova_groupext.solver.verify import verify
from tests import shares
from tests.property import mutants
from tests.property import random_problems


@strategies.composite
def files(draw):
    """The bytes of a problem file in which something may be wrong."""
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
    @shares.few_examples(60)
    @hypothesis.given(files())
    def test_it_answers_or_says_what_is_wrong(self, data):
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
            told = ('placed', 'refused', None, 'undecided')[status]
            self.assertEqual((told, ''), (answer['status'], stderr.getvalue()))
            problem = problems.parse(problems.load(data))
            found = list(verify.findings(problem, shape.parse(answer)))
            self.assertEqual([], [each for each in found if each.is_fault])
            self.assertNotIn('reason', answer['stats'])
