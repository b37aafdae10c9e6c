# SPDX-License-Identifier: Apache-2.0
"""Check of the glossary: it names what the names of the code are made of."""

import pathlib
import re

import nova
from oslotest import base
import placement

import nova_groupext

PRODUCT = pathlib.Path(nova_groupext.__file__).parent
GLOSSARY = PRODUCT.parent / 'doc/source/contributor/glossary.rst'

# Words that need no explanation.
PLAIN = frozenset(
    [
        'account',
        'accounts',
        'again',
        'ages',
        'aliases',
        'allowed',
        'analysis',
        'answers',
        'arrays',
        'assignment',
        'background',
        'balanced',
        'bodies',
        'changed',
        'changes',
        'child',
        'choice',
        'chunks',
        'cloud',
        'column',
        'commit',
        'comparison',
        'components',
        'corrections',
        'current',
        'deadline',
        'deadlines',
        'decision',
        'decisions',
        'definition',
        'delegation',
        'description',
        'distance',
        'distances',
        'effect',
        'end',
        'endpoints',
        'enough',
        'entries',
        'exact',
        'expression',
        'fast',
        'feasibility',
        'feasible',
        'few',
        'filtered',
        'finding',
        'first',
        'fork',
        'forked',
        'growing',
        'headers',
        'health',
        'held',
        'hinted',
        'holistic',
        'http',
        'improve',
        'iteration',
        'joint',
        'kind',
        'line',
        'listing',
        'look',
        'maintain',
        'marked',
        'matching',
        'matrices',
        'merging',
        'minimal',
        'minimum',
        'needs',
        'now',
        'objectives',
        'obstacle',
        'one',
        'outcome',
        'outer',
        'own',
        'ownership',
        'parser',
        'part',
        'partial',
        'parts',
        'picture',
        'piped',
        'placed',
        'plan',
        'planned',
        'planning',
        'plans',
        'process',
        'program',
        'progress',
        'proofs',
        'propose',
        'proximity',
        'queries',
        'question',
        'quick',
        'rack',
        'ranking',
        'reasons',
        'redeemable',
        'redeeming',
        'reduction',
        'refusal',
        'refused',
        'rejection',
        'related',
        'relax',
        'relaxed',
        'rename',
        'renames',
        'resolve',
        'results',
        'revise',
        'revising',
        'rounds',
        'rows',
        'sampler',
        'seed',
        'sentences',
        'serve',
        'settle',
        'settling',
        'short',
        'side',
        'solve',
        'solver',
        'stages',
        'start',
        'statistics',
        'stored',
        'stub',
        'subgroup',
        'summaries',
        'taken',
        'tools',
        'transitions',
        'try',
        'tuning',
        'unsound',
        'used',
        'verdict',
        'vrt',
        'waiting',
        'work',
        'worker',
    ]
)


class TestGlossary(base.BaseTestCase):
    def test_names_consist_of_explained_words(self):
        known = _own_words() | _words_of(nova) | _words_of(placement) | PLAIN
        wrong = sorted(
            f'{word} in {name}'
            for word, name in _words(PRODUCT).items()
            if not {word, f'{word}s', word.removesuffix('s')} & known
        )

        self.assertEqual([], wrong)

    def test_terms_are_where_the_glossary_says(self):
        missing = [
            path
            for path in re.findall(
                r'^ +- ``([\w/]+\.py)``$', GLOSSARY.read_text(), re.MULTILINE
            )
            if not (PRODUCT / path).exists()
        ]

        self.assertEqual([], missing)

    def test_plain_words_are_in_use(self):
        self.assertEqual(set(), PLAIN - _words(PRODUCT).keys())


def _own_words():
    """Return the words of the glossary's terms."""
    terms = re.findall(r'^   \* - (.+)$', GLOSSARY.read_text(), re.MULTILINE)
    return {word for term in terms for word in re.findall(r'\w+', term)}


def _words_of(package):
    return _words(pathlib.Path(package.__file__).parent).keys()


def _words(folder):
    """Return {word: a name} of the public modules and classes in a folder."""
    words = {}
    for path in folder.rglob('*.py'):
        if not {'tests', 'migrations'} & {*path.relative_to(folder).parts}:
            for name in _names(path):
                for word in re.findall(r'[A-Z]+(?![a-z])|[A-Z]?[a-z]+', name):
                    words[word.lower()] = name
    return words


def _names(path):
    classes = re.findall(r'^ *class (\w+)[(:]', path.read_text(), re.MULTILINE)
    return [n for n in (path.stem, *classes) if not n.startswith('_')]
