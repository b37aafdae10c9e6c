# SPDX-License-Identifier: Apache-2.0
"""Step 7, release: capacity of released holds becomes free."""
