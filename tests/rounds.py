# SPDX-License-Identifier: Apache-2.0
"""The rounds that a planner makes by itself, one after the other."""


def reap(planner, context):
    """Let a planner finish, and decide, what others began."""
    planner.beat(context)
    planner.reap(context)
    planner.release(context)
    planner.serve_waiting(context)
    planner.replace_failed(context)
