# SPDX-License-Identifier: Apache-2.0
"""The changes that the install page asks for, taken from its source."""

import pathlib
import re
import textwrap

PAGE = pathlib.Path(__file__).parents[2] / 'doc/source/install.rst'


def block(section: str) -> str:
    """Return the first INI block of a section of the page.

    :raises LookupError: if there is none
    """
    text = PAGE.read_text()
    title = re.search(
        rf'^{re.escape(section)}\n=+\n(.*?)(?=^[^\n]+\n=+\n|\Z)',
        text,
        re.MULTILINE | re.DOTALL,
    )
    found = title and re.search(
        r'^\.\. code-block:: ini\n\n((?:    [^\n]*\n|\n)+)',
        title.group(1),
        re.MULTILINE,
    )
    if not found:
        raise LookupError(f'The install page has no INI block in: {section}')
    return textwrap.dedent(found.group(1)).strip()
