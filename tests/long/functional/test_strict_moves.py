# SPDX-License-Identifier: Apache-2.0
"""Does every move keep every strict policy?"""

from tests.functional import test_strict_moves


class TestStrict(test_strict_moves.StrictCase):
    """Each kind of policy has a test."""


for _kind in test_strict_moves.STRICT:
    setattr(
        TestStrict,
        f'test_moves_keep_{_kind.replace("-", "_")}',
        lambda self, kind=_kind: self.check(kind),
    )
