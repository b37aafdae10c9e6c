# SPDX-License-Identifier: Apache-2.0
"""Steps 2 to 7: all code that calls Nova and Placement.

Each package imports only from the lines above it::

    nova, placement            Nova and Placement as the steps use them
    current                    present state of a group
    protocol                   protocols by which capacity changes its owner
    look, adopt                solver problem; adoption of servers
    follow, resize             changes to servers and hosts; reservations
    release, redeem            release of holds; transfer to servers
    move, reap                 destinations of servers; unfinished work
    decide, audit              plans; comparison of tables and Placement

On top are two processes::

    manager                    nova-scheduler with the redeem path; filters and
                               weights are loaded by it and by planners
    service, planner           planner: its process, and its RPCs
    serve, rounds              planner: work on one group; the reaper's rounds
    planner_health             check of the planners, for the status command
    availability, rpcapi, process_names    shared by both
"""
