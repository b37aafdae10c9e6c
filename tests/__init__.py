# SPDX-License-Identifier: Apache-2.0
"""Tests, by the question they answer."""

import gc
from importlib import util

# As Nova's services do, before anything of Nova is imported: threads, and no
# eventlet in the process. tests/packages has no Nova in its own environment.
if util.find_spec('nova'):
    from nova_groupext import nova_releases

    nova_releases.use_threads()

# To look for the few cycles among all that Nova loads takes one part in twelve
# of the processors' time, if that is done as often as by default.
gc.set_threshold(100_000, 20, 100)
