# SPDX-License-Identifier: Apache-2.0
"""Lines of a cloud's logs that explain what a storm has found."""

from collections.abc import Iterable
from collections.abc import Iterator
import pathlib
import re

MAX_LINES, MAX_WIDTH = 40, 400
UUID = re.compile(r'\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b')
# Time, level and logger, and what requested it; frames lack the latter.
ENTRY = re.compile(
    r'^(\d{4}-\d\d-\d\d \S+) \d+ ([A-Z]+ \S+) \[(?:-|(?:None )?req-[^]]*)\] '
    r'(?!.*"GET )(.*)'
)


def lines_about(folder: pathlib.Path, findings: Iterable[str]) -> Iterator:
    """Yield the last lines that name what the findings name, by their time.

    Requests that only read are left out.

    :param folder: has the logs
    """
    for uuid in dict.fromkeys(UUID.findall(' '.join(findings))):
        lines = sorted(
            f'{entry.group(1)} {file.stem} {entry.group(2)} {entry.group(3)}'
            for file in folder.glob('*.log')
            for line in file.read_text(errors='replace').splitlines()
            if uuid in line and (entry := ENTRY.match(line))
        )
        for line in lines[-MAX_LINES:]:
            yield line[:MAX_WIDTH]
