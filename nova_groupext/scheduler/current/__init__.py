# SPDX-License-Identifier: Apache-2.0
"""The present state of a group: its holds, locations and definition."""
