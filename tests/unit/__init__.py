# SPDX-License-Identifier: Apache-2.0
"""Does each part do what its docstring says?"""
