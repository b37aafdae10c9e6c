# SPDX-License-Identifier: Apache-2.0
"""Runs that differ in their last choice, of which each ends in a process.

Their common beginning, most of each run, is executed once:

1. The parent executes it, until the step of a last choice.
2. There it forks a child for each such choice, one after the other.
3. The child goes on with the choice, and reports how its run has ended.
4. The parent learns from the report, so the next child knows it, too.
"""

import collections
import contextlib
import gc
import os
import pickle
import traceback


class Forks:
    """Function that chooses for an Interleaver, in parent and children.

    :param group: tuples of Choices that differ in the last one
    :param run: reduction.Run of the process; it gets the choices of a child
    :param learn: function of each reduction.Run of a child
    :param is_over: function that returns whether the rest is left out
    :ivar runs: list of the reduction.Run of all children
    """

    def __init__(self, group, run, learn, is_over=lambda: False):
        self._beginning = {each.step: each for each in group[0][:-1]}
        # {number of a step: choices whose last one is at this step}
        self._waiting = collections.defaultdict(list)
        for choices in group:
            self._waiting[choices[-1].step].append(choices)
        self._run = run
        self._learn = learn
        self._is_over = is_over
        self.runs = []
        # The child's pipe to its parent
        self._pipe = None

    @property
    def is_child(self):
        return self._pipe is not None

    @property
    def is_done(self):
        """True for the parent after all children have ended."""
        return not self._waiting and not self.is_child

    def __call__(self, number, _runnable):
        if not self.is_child and self._is_over():
            self._waiting.clear()
        for choices in self._waiting.pop(number, ()):
            if self._fork():
                self._run.choices = choices
                return choices[-1]
        return self._beginning.get(number)

    def _fork(self):
        """Fork a child; in the parent, wait for it.

        :returns: whether this is the child
        """
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            self._waiting.clear()
            self._pipe = os.fdopen(writer, 'wb')
            # A collection would copy the parent's memory.
            gc.disable()
            return True
        os.close(writer)
        with os.fdopen(reader, 'rb') as pipe:
            report = pipe.read()
        os.waitpid(pid, 0)
        if not report:
            raise RuntimeError('a child has ended without a report')
        run, failure = pickle.loads(report)
        if failure is not None:
            raise failure
        self._learn(run)
        self.runs.append(run)
        return False

    @contextlib.contextmanager
    def reporting(self):
        """Report in a child how a ``with`` block has ended, and end it.

        :raises: what has ended the block of a child, in the parent
        """
        try:
            yield
            if self._waiting:
                raise RuntimeError('some choices were never reached')
        except BaseException as exc:
            if not self.is_child:
                raise
            self._end(exc)
        if self.is_child:
            self._end(None)

    def _end(self, failure):
        try:
            with self._pipe as pipe:
                pickle.dump((self._run, failure), pipe)
        except BaseException:
            traceback.print_exc()
        finally:
            # Whatever else the parent does at its end, the child does not.
            os._exit(0)
