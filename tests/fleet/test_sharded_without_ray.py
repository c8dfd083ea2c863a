"""The parts of a sharded fleet, and the whole of it on a simulated cluster where shards fail all the time."""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from fleet.fake_ray import FakeRay
from fleet.keyed_streams import KEYS, assert_same_fleet, assert_same_run, batches, template
from hypothesis import given, settings
from hypothesis import strategies as st

from iegp import Fleet
from iegp.errors import InputError, MissingPackageError, ModelFileError, ShardError
from iegp.fleet import RayFleet, RayOptions, pages
from iegp.fleet.cluster import checkpoint
from iegp.fleet.cluster.checkpoint import Checkpoint
from iegp.fleet.cluster.journal import Batch, Journal
from iegp.fleet.cluster.shard import Gap, Shard
from iegp.fleet.cluster.sharding import cut, joined, rows_by_shard, shard_of

SMALL = RayOptions(checkpoint_every=5, max_in_flight=3)


@pytest.fixture
def simulate_ray(monkeypatch):
    """Put a simulated Ray with these chances of failures in place of Ray."""

    def begin(**chances: Any) -> FakeRay:
        ray = FakeRay(**chances)
        monkeypatch.setitem(sys.modules, "ray", ray)
        return ray

    return begin


def undisturbed(stream: list[tuple[Any, ...]]) -> tuple[Fleet, list[Any]]:
    fleet = Fleet(template())
    return fleet, [fleet.learn(*batch) for batch in stream]


# -- parts -------------------------------------------------------------------------------------------------------------


def test_the_shard_of_a_key_never_changes():
    """Written down once: other numbers would lose every key of every checkpoint there is."""
    assert [shard_of(key, 1000) for key in ("pump", "fan", "", "1", 1, -7, "é")] == [557, 812, 561, 329, 436, 210, 835]
    counts = np.bincount([shard_of(f"sensor-{i}", 7) for i in range(7000)])
    assert counts.min() > 900
    rows = rows_by_shard(["a", "b", "a", "c"], 2)
    assert sorted(np.concatenate(list(rows.values())).tolist()) == [0, 1, 2, 3]


def test_cutting_and_joining(monkeypatch):
    monkeypatch.setattr(pages, "MOST_KEYS", 3)
    fleet, _ = undisturbed(batches(8))
    parts = cut(fleet, 3)
    assert [len(part) for part in parts] == [sum(shard_of(key, 3) == i for key in fleet.keys) for i in range(3)]
    assert_same_fleet(joined(parts), fleet)


def some_batch(number: int) -> Batch:
    keys, X, y, level = batches(8)[number % 8]
    return Batch(number, 12 * (number - 1), keys, X, y, level)


@pytest.mark.parametrize("sync", [False, True])
def test_a_journal_can_be_read_by_another_driver(tmp_path, sync):
    journal = Journal(tmp_path, 2, memory=1500, sync=sync)
    for number in range(1, 6):
        journal.append(some_batch(number))
    assert len(journal._kept) == 1
    journal.forget(2)
    again = Journal(tmp_path, 3, memory=10**9, sync=sync)
    assert (again.oldest, again.newest, again.n_rows) == (3, 5, 60)
    for number in (4, 3, 5):
        batch, rows = again.read(number)
        for got, wanted in zip(batch, some_batch(number), strict=True):
            np.testing.assert_array_equal(got, wanted)
        assert max(rows) <= 2
    with pytest.raises(InputError, match="another driver"):
        Journal(tmp_path, 2, 10**9, sync).append(some_batch(5))


def test_damaged_journals(tmp_path):
    journal = Journal(tmp_path, 2, memory=1, sync=False)
    for number in range(1, 4):
        journal.append(some_batch(number))
    path = journal._path(1)
    whole = path.read_bytes()
    path.write_bytes(whole[:-8] + b"\0" * 8)
    with pytest.raises(ModelFileError, match="checksum"):
        journal.read(1)
    path.write_bytes(whole[:50])
    with pytest.raises(ModelFileError, match="damaged"):
        journal.read(1)
    journal._path(2).unlink()
    with pytest.raises(ModelFileError, match="lacks batch 2"):
        Journal(tmp_path, 2, memory=1, sync=False)


def test_a_shard_learns_in_order_and_once(tmp_path):
    checkpoint.save(tmp_path, 0, Checkpoint(Fleet(template()), 0, {}))
    stream = batches(7)
    _, wanted = undisturbed(stream)
    shard = Shard(str(tmp_path), 0, 3, None)
    # Batches 2 and 5 had no rows for this shard.
    numbers = [1, 3, 4, 6, 7, 8, 9]
    chain = list(zip(pairwise([0, *numbers]), stream, strict=True))
    first = {}
    for (previous, number), batch in chain[:3]:
        first[number] = shard.learn(number, previous, *batch)
    assert shard.learn(7, 6, *stream[4]) == Gap(4)
    assert shard.read_attribute(6, "keys") == shard.predict(6, [], stream[0][1]) == shard.checkpoint(6) == Gap(4)
    assert shard.learn(1, 0, *stream[0]) is None  # long ago
    np.testing.assert_array_equal(shard.learn(4, 3, *stream[2])["mean"], wanted[2].mean)
    assert shard.checkpoint() == 4
    shard.learn(6, 4, *stream[3])
    shard = Shard(str(tmp_path), 0, 3, None)
    assert shard.position() == 4
    # The answers that the driver may have missed are still there.
    np.testing.assert_array_equal(shard.learn(3, 1, *stream[1])["log_score"], first[3]["log_score"])
    for (previous, number), batch in chain[3:]:
        np.testing.assert_array_equal(shard.learn(number, previous, *batch)["mean"], wanted[numbers.index(number)].mean)
    assert shard.checkpoint() == 9
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "00000.000000000009.answers",
        "00000.000000000009.fleet",
    ]


def test_a_shard_that_fails_goes_back(tmp_path, monkeypatch):
    """A batch that was half learned must not be learned again on top of itself."""
    checkpoint.save(tmp_path, 0, Checkpoint(Fleet(template()), 0, {}))
    stream = batches(3)
    shard = Shard(str(tmp_path), 0, 3, None)
    shard.learn(1, 0, *stream[0])

    def half(self: Fleet, keys: Any, X: Any, y: Any, level: Any) -> None:
        learn(self, keys[:5], X[:5], y[:5], level)
        raise MemoryError("no room")

    learn = Fleet.learn
    with monkeypatch.context() as patch:
        patch.setattr(Fleet, "learn", half)
        with pytest.raises(MemoryError):
            shard.learn(2, 1, *stream[1])
    assert shard.position() == 0
    for number in (1, 2, 3):
        shard.learn(number, number - 1, *stream[number - 1])
    shard.checkpoint()
    assert_same_fleet(checkpoint.load(tmp_path, 0).fleet, undisturbed(stream)[0])


def test_folders_that_a_machine_does_not_see(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "_PATIENCE", 0.1)
    with pytest.raises(ModelFileError, match="shared file system"):
        Shard(str(tmp_path / "elsewhere"), 0, 3, None)
    with pytest.raises(FileNotFoundError, match="no checkpoint of shard 4"):
        Shard(str(tmp_path), 4, 3, None)


# -- the whole ---------------------------------------------------------------------------------------------------------


def test_the_message_without_ray_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPackageError, match=r'pip install "ray\[data\]" aiohttp'):
        RayFleet(template(), 2, tmp_path)


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10**6),
    n_shards=st.integers(1, 4),
    every=st.integers(1, 5),
    window=st.integers(1, 5),
    deaths=st.sampled_from([0.0, 0.02, 0.08]),
    stale=st.sampled_from([0.0, 0.5]),
    lost=st.sampled_from([0.0, 0.1]),
)
def test_after_failures_nothing_is_lost_or_learned_twice(
    tmp_path_factory, seed, n_shards, every, window, deaths, stale, lost
):
    stream = batches(20)
    wanted, runs = undisturbed(stream)
    ray = FakeRay(seed, deaths, stale, lost)
    options = RayOptions(checkpoint_every=every, max_in_flight=window, log_memory=4000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "ray", ray)
        patch.setattr(os, "fsync", lambda _: None)  # no power cut here, and it takes long
        fleet = RayFleet(template(), n_shards, tmp_path_factory.mktemp("fleet"), options=options)
        pending = []
        for number, batch in enumerate(stream):
            pending.append(fleet.submit(*batch))
            assert len(fleet._dispatcher._pending) <= window
            journal = fleet._dispatcher.journal
            assert deaths or journal.newest - journal.oldest <= 2 * (every + window)
            if number % 10 == 4:
                np.testing.assert_array_equal(fleet.predict("z", batch[1]), Fleet(template()).predict("z", batch[1]))
        for got, run in zip(pending, runs, strict=True):
            assert_same_run(got.result(), run)
        assert fleet.n_samples_seen_ == wanted.n_samples_seen_
        assert ray.most_waiting <= window * n_shards
        assert_same_fleet(fleet.to_fleet(), wanted)
        fleet.close()


def drop(fleet: RayFleet, ray: FakeRay) -> None:
    """The driver is killed, and its actors with it."""
    for actor in ray.actors:
        actor.alive = False
    ray.actors.clear()
    del fleet


@pytest.mark.parametrize("n_shards", [None, 1, 4])
def test_resuming_after_the_driver_died(simulate_ray, tmp_path, n_shards):
    stream = batches(30)
    wanted, runs = undisturbed(stream)
    ray = simulate_ray(seed=1, deaths=0.1)
    fleet = RayFleet(template(), 2, tmp_path, options=SMALL)
    done = 0
    for part in (7, 8, 23, 30):
        for batch in stream[done:part]:
            fleet.submit(*batch)
        drop(fleet, ray)
        fleet = RayFleet.resume(tmp_path, n_shards, options=RayOptions(checkpoint_every=4, max_in_flight=2 + part % 3))
        done = part
        assert fleet.n_rows == 12 * part
        # Answers from before the keys were dealt out anew were in the ``recovered`` of that time.
        last = {part - 1, part} if n_shards is None or part != 8 else {part}
        assert {pending.number for pending in fleet.recovered} >= last
        for pending in fleet.recovered:
            assert_same_run(pending.result(), runs[pending.number - 1])
            assert pending.first_row == 12 * (pending.number - 1)
    assert_same_fleet(fleet.to_fleet(), wanted)
    assert fleet.n_shards == (n_shards or 2)
    assert len(list(tmp_path.glob("shards-*"))) == 1


def test_other_numbers_of_shards(simulate_ray, tmp_path):
    simulate_ray()
    stream = batches(16)
    wanted, runs = undisturbed(stream)
    fleet = RayFleet(template(), 1, tmp_path, options=SMALL)
    for n_shards, part in zip((3, 5, 2, 2), np.array_split(np.arange(16), 4), strict=True):
        for number in part:
            assert_same_run(fleet.learn(*stream[number]), runs[number])
        fleet.close()
        fleet = RayFleet.resume(tmp_path, n_shards, options=SMALL)
    assert_same_fleet(fleet.to_fleet(), wanted)


def test_files_for_one_machine_and_many(simulate_ray, tmp_path):
    simulate_ray()
    stream = batches(6)
    wanted, runs = undisturbed(stream)
    with RayFleet(template(), 2, tmp_path / "one", options=SMALL) as fleet:
        for batch in stream[:3]:
            fleet.submit(*batch)
        fleet.save(tmp_path / "file")
    fleet = RayFleet.load(tmp_path / "file", 3, tmp_path / "two", options=SMALL)
    for batch, run in zip(stream[3:], runs[3:], strict=True):
        assert_same_run(fleet.learn(*batch), run)
    assert set(fleet.keys) == set(KEYS)
    assert len(fleet) == len(KEYS)
    assert "3 shards, 36 rows" in repr(fleet)
    fleet.save(tmp_path / "file")
    assert_same_fleet(Fleet.load(tmp_path / "file"), wanted)


def test_what_is_refused(simulate_ray, tmp_path):
    simulate_ray()
    fleet = RayFleet(template(), 2, tmp_path / "fleet", options=SMALL)
    keys, X, y, _ = batches(1)[0]
    for bad, match in (
        ((keys, np.where(np.arange(12)[:, None] == 3, np.nan, X), y), "X has nan at row 3"),
        ((keys, X, y[:5]), r"y has shape \(5,\)"),
        ((keys[:3], X, y), "3 keys but 12 rows"),
        ((keys, X, np.where(y == y[2], 1e308, y)), r"1e\+308"),
        ((keys, X, y, 2.0), "level=2.0"),
    ):
        with pytest.raises(InputError, match=match):
            fleet.submit(*bad)
    assert fleet.n_rows == 0
    assert len(fleet.learn([], X[:0], y[:0])) == 0
    with pytest.raises(InputError, match="holds a fleet already"):
        RayFleet(template(), 2, tmp_path / "fleet")
    with pytest.raises(InputError, match="holds no sharded fleet"):
        RayFleet.resume(tmp_path / "nothing")
    for wrong in ({"checkpoint_every": 0}, {"max_in_flight": 1.5}, {"cpus_per_shard": 0.0}, {"log_memory": True}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            RayOptions(**wrong)
    with pytest.raises(InputError, match="n_shards=0"):
        RayFleet(template(), 0, tmp_path / "other")
    fleet.close()
    fleet.close()
    with pytest.raises(InputError, match="closed"):
        fleet.learn(keys, X, y)


def test_a_permanent_failure(simulate_ray, tmp_path, monkeypatch):
    """It is told, nothing is lost, and once its cause is gone the same fleet goes on."""
    simulate_ray()
    stream = batches(6)
    wanted, runs = undisturbed(stream)
    fleet = RayFleet(template(), 2, tmp_path, options=SMALL)
    fleet.learn(*stream[0])
    learn = Fleet.learn

    def fails(self: Fleet, keys: Any, X: Any, y: Any, level: Any = None) -> Any:
        if len(keys):
            raise MemoryError("no room")
        return learn(self, keys, X, y, level)

    with monkeypatch.context() as patch:
        patch.setattr(Fleet, "learn", fails)
        with pytest.raises(ShardError, match="no room"):
            fleet.learn(*stream[1])
    assert fleet.n_rows == 24
    for batch, run in zip(stream[2:], runs[2:], strict=True):
        assert_same_run(fleet.learn(*batch), run)
    assert_same_fleet(fleet.to_fleet(), wanted)


def test_a_power_cut_that_took_the_end_of_the_journal(simulate_ray, tmp_path):
    simulate_ray()
    fleet = RayFleet(template(), 2, tmp_path, options=SMALL)
    for batch in batches(6):
        fleet.learn(*batch)
    fleet.close()
    (tmp_path / "journal" / "000000000006.batch").unlink()
    with pytest.raises(ModelFileError, match="journal ends at 5"):
        RayFleet.resume(tmp_path)
