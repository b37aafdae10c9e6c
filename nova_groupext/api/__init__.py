# SPDX-License-Identifier: Apache-2.0
"""The HTTP face: describes, shows and releases groups."""
