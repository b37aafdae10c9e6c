# SPDX-License-Identifier: Apache-2.0
"""Both steps at once: a group is held, then its servers are created.

Every step is taken so that it may be the last: what is done is known to
Nova, so another run finds it there and goes on.
"""
