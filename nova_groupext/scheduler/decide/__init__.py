# SPDX-License-Identifier: Apache-2.0
"""Step 3, decide: groups and their revisions, planned as a whole and held."""
