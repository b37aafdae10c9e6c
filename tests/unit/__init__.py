# SPDX-License-Identifier: Apache-2.0
"""Unit tests: does each part do what its docstring says?"""
