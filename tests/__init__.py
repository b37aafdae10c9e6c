# SPDX-License-Identifier: Apache-2.0
"""Tests, by the question they answer."""

from importlib import util

# As Nova's services do, before anything of Nova is imported: threads, and no
# eventlet in the process. tests/packages has no Nova in its own environment.
if util.find_spec('nova'):
    from nova import monkey_patch

    monkey_patch.patch(backend='threading')
