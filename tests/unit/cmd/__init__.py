# SPDX-License-Identifier: Apache-2.0
"""Do the commands say what is wrong in one line?"""
