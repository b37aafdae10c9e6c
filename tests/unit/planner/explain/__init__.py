# SPDX-License-Identifier: Apache-2.0
"""Does a refusal say why, truly and in words, and what would help?"""
