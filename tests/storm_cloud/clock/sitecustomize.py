# SPDX-License-Identifier: Apache-2.0
"""Sleep for processes whose clock libfaketime sets.

Python sleeps until an instant of the monotonic clock, which libfaketime shifts
although it leaves that clock alone: the sleep is an error then. Python imports
a module of this name before all others.
"""

import select
import time


def _sleep(seconds):
    select.select([], [], [], seconds)


time.sleep = _sleep
