# SPDX-License-Identifier: Apache-2.0
"""Type aliases: arrays by the type of their entries.

They are not in ``aliases``, which the API imports without numpy.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]
