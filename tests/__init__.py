# SPDX-License-Identifier: Apache-2.0
"""Tests, by the question they answer."""

# As Nova's services do, before anything of Nova is imported: threads, and no
# eventlet in the process.
from nova import monkey_patch

monkey_patch.patch(backend='threading')
