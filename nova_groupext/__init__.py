# SPDX-License-Identifier: Apache-2.0
"""Holistic group placement for OpenStack Nova.

The seven steps and where they live:

1. describe  api/describe.py           a group, its members tentative
2. look      scheduler/look.py         the cloud, through Nova's own eyes
3. decide    planner/                  one decision for all members
4. hold      scheduler/holding.py      the plan, in Placement's ledger
5. redeem    scheduler/redeem.py       a hold becomes a server's allocation
6. follow    scheduler/filters/        where servers may go afterwards
7. release   scheduler/releasing.py    what was given up is free again
"""
