# SPDX-License-Identifier: Apache-2.0
"""Where members are, as a map in the terminal and as a picture.

Nothing but the standard library is imported here, so that the planner's own
pictures are drawn with the same pencils.
"""
