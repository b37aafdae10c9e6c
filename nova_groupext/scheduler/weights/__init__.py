# SPDX-License-Identifier: Apache-2.0
"""The weigher that an operator adds to Nova."""
