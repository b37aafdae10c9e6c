# SPDX-License-Identifier: Apache-2.0
"""Allocation options of member classes as arrays over the hosts."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nova_groupext.solver.arrays import Bools
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.model import problems
from nova_groupext.solver.model.host_arrays import HostArrays


class Option(NamedTuple):
    """Allocation option of a class.

    :ivar needs: amounts by host, or one row for all
    :ivar mask: by host, whether the host has the option
    """

    needs: Ints
    mask: Bools


def of_class(
    arrays: HostArrays,
    member_class: problems.MemberClass,
    names: Sequence[str],
) -> list[Option]:
    """Return the allocation options of a class.

    :param names: resources
    """
    allowed = arrays.allowed(member_class)
    base = np.array([[member_class.request.get(name, 0) for name in names]])
    if not member_class.alternatives:
        return [Option(base, allowed)]
    max_count = max(
        len(options) for options in member_class.alternatives.values()
    )
    needs = [base.repeat(len(allowed), axis=0) for _ in range(max_count)]
    masks = [
        allowed.copy() if option == 0 else allowed & False
        for option in range(max_count)
    ]
    for host, options in member_class.alternatives.items():
        number = arrays.index[host]
        for option, request in enumerate(options):
            needs[option][number] = [request.get(name, 0) for name in names]
            masks[option][number] = allowed[number]
    return [Option(*each) for each in zip(needs, masks, strict=True)]
