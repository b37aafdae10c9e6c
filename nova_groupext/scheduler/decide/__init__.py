# SPDX-License-Identifier: Apache-2.0
"""Step 3, decide: plans for groups and for their revisions."""
