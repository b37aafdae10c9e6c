# SPDX-License-Identifier: Apache-2.0
"""The filter that an operator adds to Nova."""
