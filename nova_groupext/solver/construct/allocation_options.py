# SPDX-License-Identifier: Apache-2.0
"""Allocation options of member classes as arrays over the hosts."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.arrays import Bools
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.model import problems


class Option(NamedTuple):
    """Allocation option of a class.

    :ivar needs: amounts by host, or one row for all
    :ivar mask: by host, whether the host has the option
    """

    needs: Ints
    mask: Bools


def of_class(
    member_class: problems.MemberClass,
    number_of: Mapping[HostId, int],
    names: Sequence[str],
) -> list[Option]:
    """Return the allocation options of a class.

    :param number_of: numbers of all hosts
    :param names: resources
    """
    allowed = np.full(
        len(number_of), len(member_class.hosts) == len(number_of)
    )
    if not allowed.all():
        allowed[[number_of[host] for host in member_class.hosts]] = True
    base = np.array([[member_class.request.get(name, 0) for name in names]])
    if not member_class.alternatives:
        return [Option(base, allowed)]
    max_count = max(
        len(options) for options in member_class.alternatives.values()
    )
    needs = [base.repeat(len(number_of), axis=0) for _ in range(max_count)]
    masks = [
        allowed.copy() if option == 0 else allowed & False
        for option in range(max_count)
    ]
    for host, options in member_class.alternatives.items():
        number = number_of[host]
        for option, request in enumerate(options):
            needs[option][number] = [request.get(name, 0) for name in names]
            masks[option][number] = allowed[number]
    return [Option(*each) for each in zip(needs, masks, strict=True)]
