# SPDX-License-Identifier: Apache-2.0
"""Holistic group placement for OpenStack Nova.

The seven steps and where they live:

1. describe  api/                    a group, its members tentative
2. look      scheduler/look/         the cloud, through Nova's own eyes
3. decide    scheduler/decide/,      one decision for all members
             planner/
4. hold      scheduler/hold/         the plan, in Placement's ledger
5. redeem    scheduler/redeem/       a hold becomes a server's allocation
6. follow    scheduler/follow/,      what became of servers, holds and hosts,
             scheduler/move/         and where servers may go
7. release   scheduler/releasing.py  what was given up is free again
"""
