# SPDX-License-Identifier: Apache-2.0
"""Step 5, redeem: a hold becomes the allocation of its server."""
