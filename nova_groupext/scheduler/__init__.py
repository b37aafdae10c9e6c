# SPDX-License-Identifier: Apache-2.0
"""Steps 2 to 7: all code that calls Nova and Placement.

Each package imports only from the lines above it::

    nova, placement            Nova and Placement as the steps use them
    current                    present state of a group
    protocol                   protocols by which capacity changes its owner
    look, adopt                solver problem; adoption of servers
    follow, resize             changes to servers and hosts; reservations
    release, redeem            release of holds; swap for servers' allocations
    move, reap                 destinations of servers; unfinished work
    decide, audit              plans; comparison of tables and Placement

On top are two processes: ``manager``, Nova's scheduler with the redeem path,
and ``service``, the planner with the RPCs of ``planner``.
"""
