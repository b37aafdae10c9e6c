# SPDX-License-Identifier: Apache-2.0
"""Choice of the parts in which a test can have a given name.

To look for a test, stestr imports a whole part. Reading its files is faster.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import importlib.util
import pathlib
import re

from parts import Part

# Tests inherit from classes in modules that are imported in this form.
_IMPORT = re.compile(r'^from ((?:nova\.)?tests[\w.]*) import (\w+)', re.M)
# A part of a test's id, without the special characters of an expression.
_NAME = re.compile(r'[\w.]+')


def may_contain(top: pathlib.Path, part: Part, arguments: Sequence[str]):
    """Check whether a part may contain a test that the arguments select.

    :param top: folder of the checkout
    :param arguments: of ``stestr run``; only names restrict the answer
    """
    if not all(map(_NAME.fullmatch, arguments)):
        return True
    text = '\n'.join(_texts(top, part))
    return any(
        all(word in text for word in argument.split('.'))
        for argument in arguments
    )


def _texts(top: pathlib.Path, part: Part) -> Iterator[str]:
    """Yield paths and texts of a part's modules, and texts of their bases."""
    pending = sorted((top / part.path).rglob('*.py'))
    for file in pending:
        yield '\n'.join(file.relative_to(top).with_suffix('').parts)
    seen = set()
    while pending:
        file = pending.pop()
        if file not in seen and file.is_file():
            seen.add(file)
            text = file.read_text()
            yield text
            pending += [_file(top, *names) for names in _IMPORT.findall(text)]


def _file(top: pathlib.Path, package: str, name: str) -> pathlib.Path:
    """Return the file of a module, which may not exist."""
    first, *others = package.split('.')
    if first == 'nova':
        found = importlib.util.find_spec(first)
        folder = pathlib.Path(found.origin).parent if found else top
    else:
        folder = top / first
    return folder.joinpath(*others, f'{name}.py')
