# SPDX-License-Identifier: Apache-2.0
"""One thing to say about an answer."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Finding:
    """What is wrong, or was not verified.

    :ivar where: JSON path in the answer file
    :ivar text: half a sentence that goes on after the path
    :ivar is_fault: the answer does not hold; else there was no time to tell
    """

    where: str
    text: str
    is_fault: bool = True
