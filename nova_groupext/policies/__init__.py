# SPDX-License-Identifier: Apache-2.0
"""oslo.policy rules of the API."""
