# SPDX-License-Identifier: Apache-2.0
"""Names of the two sides, for what does not import Nova's tests.

These change ``unittest.mock`` for all that runs in the process.
"""

STOCK = 'stock'
OURS = 'ours'
SIDES = (STOCK, OURS)
