# SPDX-License-Identifier: Apache-2.0
"""Stories of a group, from its description to its end."""
