"""Dispatcher of the driver: it numbers batches, stores and sends them, collects answers, and sends lost ones again."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from iegp._processes import CACHE
from iegp.errors import ModelFileError, ShardError
from iegp.fleet.checks import Key
from iegp.fleet.cluster import layout
from iegp.fleet.cluster.journal import Batch, Journal
from iegp.fleet.cluster.layout import Layout
from iegp.fleet.cluster.options import RayOptions
from iegp.fleet.cluster.pending import Pending, ShardQueue
from iegp.fleet.cluster.shard import Gap, need_ray, start_shards
from iegp.typing import Float


class Dispatcher:
    """Starts the shards of a checkpoint folder, sends each what it has not learned, and asks again for last answers.

    All waiting is done by ``ray.wait`` in the thread of the caller; between calls, only the shards work. At most
    ``window`` consecutive batches are without an answer, and shards keep the answers to at least as many: an answer
    that was lost can always be asked for again.
    """

    def __init__(self, folder: Path, found: Layout, options: RayOptions) -> None:
        self._ray = need_ray()
        self._every, self._window = options.checkpoint_every, options.max_in_flight
        self._kept = max(found.window, options.max_in_flight)
        for path in layout.other_generations(folder, found):
            shutil.rmtree(path, ignore_errors=True)
        self.journal = Journal(layout.journal_of(folder), found.n_shards, options.log_memory, options.sync_journal)
        self.n_rows = self.journal.n_rows
        self._entered = found.began_after
        self._pending: dict[int, Pending] = {}
        filled = options.filled_cache
        cache = os.environ.get(CACHE) if filled is None else os.fspath(filled)
        actors = start_shards(folder, found.shards(folder), found.n_shards, self._kept, options.cpus_per_shard, cache)
        self.queues: list[ShardQueue] = []
        try:
            self._connect(actors, found)
        except BaseException:
            for actor in actors:
                self._ray.kill(actor)
            raise
        self.recovered = list(self._pending.values())

    def _connect(self, actors: list[Any], found: Layout) -> None:
        newest = self.journal.newest
        positions = [self._get(shard, actor.position.remote()) for shard, actor in enumerate(actors)]
        if max(positions) > max(newest, found.began_after):
            raise ModelFileError(
                f"a shard has learned batch {max(positions)}, but the journal ends at {newest}: its last files are "
                "lost, perhaps by a power cut (sync_journal=True guards against that); restore the folder from a copy"
            )
        first = max(self.journal.oldest - 1, found.began_after)
        for shard, (actor, position) in enumerate(zip(actors, positions, strict=True)):
            queue = ShardQueue(shard, actor, self.journal, min(position, first))
            # Shards take turns at storing.
            queue.asked_to_save = newest - shard * self._every // found.n_shards
            self.queues.append(queue)
        self._entered = first
        waiting = self._enter_new()
        answered = newest - found.window
        for pending in waiting:
            if pending.number <= answered:
                del self._pending[pending.number]
        for queue, position in zip(self.queues, positions, strict=True):
            queue.skip(min(position, answered))
            queue.saved = position

    # -- batches -----------------------------------------------------------------------------------------------------

    def submit(self, keys: list[Key], X: Float, y: Float, level: float | None) -> Pending:
        """Accept a batch; wait while too many are pending."""
        self._enter_new()
        self.wait(self._has_room)
        self.journal.append(Batch(self.journal.newest + 1, self.n_rows, keys, X, y, level))
        pending = self._enter_new()[-1]
        self._step(timeout=0.0)
        return pending

    def _has_room(self) -> bool:
        return not self._pending or self.journal.newest + 1 - next(iter(self._pending)) < self._window

    def _enter_new(self) -> list[Pending]:
        """Whatever is in the journal is to be learned, even if an interrupt came between writing and sending."""
        entered = []
        while self._entered < self.journal.newest:
            routed = self.journal.read(self._entered + 1)
            pending = Pending(routed, self.wait)
            self._pending[pending.number] = pending
            for shard in routed.rows:
                self.queues[shard].enter(pending.number)
            self.n_rows = pending.first_row + len(routed.batch.keys)
            self._entered = pending.number
            entered.append(pending)
        return entered

    def flush(self) -> None:
        """Wait until everything is learned and answered."""
        self._enter_new()
        self.wait(lambda: not self._pending and all(queue.is_quiet for queue in self.queues))

    # -- questions ---------------------------------------------------------------------------------------------------

    def ask(self, method: str, asked: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Call a method of some shards, with these arguments, once they have learned everything."""
        answers: dict[int, Any] = {}
        while len(answers) < len(asked):
            self.flush()
            calls = {
                shard: getattr(self.queues[shard].actor, method).remote(self.queues[shard].last, *arguments)
                for shard, arguments in asked.items()
                if shard not in answers
            }
            for shard, call in calls.items():
                try:
                    answer = self._get(shard, call)
                except self._transient_errors():
                    continue
                if isinstance(answer, Gap):
                    self.queues[shard].go_back(answer.applied)
                else:
                    answers[shard] = answer
        return answers

    def checkpoint(self) -> None:
        """Store all shards as they are when everything is learned."""
        for shard, saved in self.ask("checkpoint", {queue.shard: () for queue in self.queues}).items():
            self.queues[shard].saved = saved
        self._forget()

    def stop(self) -> None:
        """End the shards as they are."""
        while self.queues:
            self._ray.kill(self.queues.pop().actor)

    # -- waiting -----------------------------------------------------------------------------------------------------

    def wait(self, condition: Callable[[], bool], timeout: float | None = None) -> None:
        """Work until the condition holds."""
        until = None if timeout is None else time.monotonic() + timeout
        while not condition():
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0.0:
                raise TimeoutError(f"no answer after {timeout} seconds; the batch stays accepted, ask again later")
            if not self.queues:
                raise ShardError("the fleet was ended before this was answered; RayFleet.resume has it in recovered")
            if not self._step(left):
                self._resend_lost_answers()

    def _step(self, timeout: float | None) -> bool:
        """Send what can be sent, then take what has come, waiting for at least one; False if nothing is on its way."""
        for queue in self.queues:
            queue.send(self._window)
            if queue.saving is None and queue.has_unsaved and self.journal.newest - queue.asked_to_save >= self._every:
                queue.saving, queue.to_be_saved = queue.actor.checkpoint.remote(), queue.last_sent
                queue.asked_to_save = self.journal.newest
        from_queue = {task: queue for queue in self.queues for task in queue.in_flight}
        from_queue |= {queue.saving: queue for queue in self.queues if queue.saving is not None}
        if not from_queue:
            return False
        ready, others = self._ray.wait(list(from_queue), num_returns=1, timeout=timeout)
        if ready and others:
            ready += self._ray.wait(others, num_returns=len(others), timeout=0)[0]
        for task in ready:
            queue = from_queue[task]
            if task == queue.saving:
                self._take_saved(queue)
            elif task in queue.in_flight:
                self._take_answer(queue, task)
        return True

    def _take_answer(self, queue: ShardQueue, task: Any) -> None:
        number = queue.in_flight[task]
        try:
            answer = self._get(queue.shard, task)
        except self._transient_errors():
            queue.send_again(number)
            return
        except ShardError:
            queue.send_again(number)
            raise
        if isinstance(answer, Gap):
            queue.go_back(answer.applied)
            return
        pending = self._pending.get(number)
        if pending is not None:
            if answer is None:
                raise ShardError(
                    f"shard {queue.shard} no longer has its answer to batch {number}; this is a mistake in iegp"
                )
            pending.fill(queue.shard, answer)
            if pending.done():
                del self._pending[number]
        del queue.in_flight[task]

    def _take_saved(self, queue: ShardQueue) -> None:
        task, queue.saving = queue.saving, None
        try:
            queue.saved = max(queue.saved, self._get(queue.shard, task))
        except self._transient_errors():
            pass
        if queue.saved < queue.to_be_saved:
            # It failed while it stored, and was restarted from an older checkpoint: ask again, or the journal grows.
            queue.asked_to_save = self.journal.newest - self._every
        self._forget()

    def _forget(self) -> None:
        """Keep in the journal what some shard has not stored, and batches with answers that may be asked for again."""
        newest = self.journal.newest
        done = min(queue.done_up_to(newest) for queue in self.queues)
        self.journal.forget(min(done, newest - self._kept))
        for queue in self.queues:
            queue.forget(self.journal.oldest - 1)

    def _resend_lost_answers(self) -> None:
        """An interrupt at the wrong moment may have dropped an answer that had come; it is asked for again."""
        if not self._pending:
            raise ShardError("nothing is on its way, and yet something is waited for: this is a mistake in iegp")
        for number, pending in list(self._pending.items()):
            for shard in pending.missing:
                self.queues[shard].send_again(number)

    # -- what Ray says -----------------------------------------------------------------------------------------------

    def _transient_errors(self) -> tuple[type[BaseException], ...]:
        """Errors after which a call is repeated: Ray restarts the shard, or the answer was lost with its machine."""
        errors = self._ray.exceptions
        return errors.ObjectLostError, errors.ActorUnavailableError, errors.NodeDiedError

    def _get(self, shard: int, task: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(task)
        except self._transient_errors():
            raise
        except (errors.RayActorError, errors.RayTaskError) as error:
            raise ShardError(
                f"shard {shard} has failed, and Ray does not bring it back: {error}. Accepted rows are in the journal; "
                "remove the cause, then RayFleet.resume(checkpoint_folder)"
            ) from error
