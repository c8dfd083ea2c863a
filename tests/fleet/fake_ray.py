"""As much of Ray as the dispatcher uses, in one process, with failures at every moment at which a real shard can fail.

Shards are the real ones. A call is carried out when its result is waited for. Only what Ray guarantees holds:
calls that were cut off are repeated on the restarted actor, possibly after they had taken effect and possibly out of
order.
"""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any


class RayError(Exception):
    pass


class ObjectLostError(RayError):
    pass


class RayActorError(RayError):
    pass


class ActorUnavailableError(RayActorError):
    pass


class NodeDiedError(RayError):
    pass


class RayTaskError(RayError):
    pass


class Call:
    def __init__(self, actor: Actor, method: str, arguments: tuple[Any, ...]) -> None:
        self.actor, self.method, self.arguments = actor, method, arguments
        self.done, self.value = False, None


class Actor:
    def __init__(self, ray: FakeRay, kind: Any, arguments: tuple[Any, ...]) -> None:
        self._ray, self._kind, self._arguments = ray, kind, arguments
        self.calls: list[Call] = []
        self.alive = True
        self.restart()

    def restart(self) -> None:
        self.shard = self._kind(*self._arguments)

    def __getattr__(self, method: str) -> Any:
        def remote(*arguments: Any) -> Call:
            call = Call(self, method, arguments)
            self.calls.append(call)
            return call

        return SimpleNamespace(remote=remote)


class FakeRay:
    """``deaths`` is the chance that an actor dies around a call; ``stale`` that calls are repeated out of order."""

    exceptions = SimpleNamespace(
        ObjectLostError=ObjectLostError,
        RayActorError=RayActorError,
        ActorUnavailableError=ActorUnavailableError,
        NodeDiedError=NodeDiedError,
        RayTaskError=RayTaskError,
    )

    def __init__(self, seed: int = 0, deaths: float = 0.0, stale: float = 0.0, lost: float = 0.0) -> None:
        self._random = random.Random(seed)
        self._deaths, self._stale, self._lost = deaths, stale, lost
        self._n_calls = 0
        self.most_waiting = 0
        self.actors: list[Actor] = []

    def is_initialized(self) -> bool:
        return True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 64.0}

    def remote(self, **options: Any) -> Any:  # noqa: ARG002 - Ray's own
        def decorate(kind: Any) -> Any:
            if not isinstance(kind, type):
                return SimpleNamespace(remote=lambda *arguments: self._run(kind, arguments))

            def begin(*arguments: Any) -> Actor:
                self.actors.append(Actor(self, kind, arguments))
                return self.actors[-1]

            return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=begin))

        return decorate

    def _run(self, function: Any, arguments: tuple[Any, ...]) -> Call:
        call = Call(None, "", ())  # type: ignore[arg-type]
        call.done, call.value = True, function(*arguments)
        return call

    def kill(self, actor: Actor, no_restart: bool = True) -> None:
        if no_restart:
            actor.alive = False
        else:
            actor.restart()

    def wait(self, calls: list[Call], num_returns: int = 1, timeout: float | None = None) -> tuple[list, list]:
        learning = [call for call in calls if call.method == "learn"]
        self.most_waiting = max(self.most_waiting, len(learning))
        if timeout is None:
            while not any(call.done for call in calls):
                self._work(self._random.choice([call.actor for call in calls if not call.done]))
        ready = [call for call in calls if call.done][:num_returns]
        return ready, [call for call in calls if call not in ready]

    def get(self, calls: Any) -> Any:
        if isinstance(calls, list):
            return [self.get(call) for call in calls]
        while not calls.done:
            self._work(calls.actor)
        if calls.method == "learn" and self._random.random() < self._lost:
            raise ObjectLostError("died with its node")
        if isinstance(calls.value, BaseException):
            raise RayTaskError(str(calls.value)) from calls.value
        return calls.value

    def _work(self, actor: Actor) -> None:
        """One call; the actor may die before it, or after it and before the answer has left."""
        self._n_calls += 1
        assert self._n_calls < 20_000, "no progress"
        if self._random.random() < self._deaths:
            self.kill(actor, no_restart=False)
            if self._random.random() < self._stale:
                self._random.shuffle(actor.calls)
        call = actor.calls[0]
        try:
            value = getattr(actor.shard, call.method)(*call.arguments)
        except Exception as error:
            value = error
        if self._random.random() < self._deaths:
            self.kill(actor, no_restart=False)
            return
        actor.calls.pop(0)
        call.done, call.value = True, value
