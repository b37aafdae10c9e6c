# SPDX-License-Identifier: Apache-2.0
"""Response bodies of the API."""
