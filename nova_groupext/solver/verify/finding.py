# SPDX-License-Identifier: Apache-2.0
"""Finding of a verification."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Finding:
    """Error in an answer, or a part that was not verified in time.

    :ivar where: JSON path in the answer file
    :ivar text: rest of the sentence that begins with the path
    :ivar is_error: True if the answer is wrong, False if the time ran out
    """

    where: str
    text: str
    is_error: bool = True
