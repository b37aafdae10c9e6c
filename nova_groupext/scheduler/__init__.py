# SPDX-License-Identifier: Apache-2.0
"""Look, decide, hold, redeem, release: everything that asks Placement."""
