# SPDX-License-Identifier: Apache-2.0
"""Unit tests of the tables and of the access to them."""
