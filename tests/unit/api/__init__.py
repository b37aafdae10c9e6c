# SPDX-License-Identifier: Apache-2.0
"""Unit tests of the API: input, views and refusals."""
