# SPDX-License-Identifier: Apache-2.0
"""Does the template language say what the API is told?"""
