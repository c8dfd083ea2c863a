"""Sharded fleets on a Ray cluster of several nodes here: the same bits as in one process, whatever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from fleet.keyed_streams import assert_same_fleet, assert_same_run, batches, template

from iegp import Fleet
from iegp.fleet import RayFleet, RayOptions

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'iegp[ray]', or make test-ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

# Ray leaves sockets and files to the garbage collector, and announces a default that will change.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*(ray|Ray|RAY).*:FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.*"),
]

TESTS = Path(__file__).parents[1]
NODE = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
# A node that is lost is noticed within seconds.
WATCHFUL = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500, "health_check_failure_threshold": 4}


@pytest.fixture(scope="module")
def cluster():
    """A head for the driver, two nodes for the shards."""
    head = {"num_cpus": 0, "object_store_memory": 100 * 2**20, "include_dashboard": False, "_system_config": WATCHFUL}
    there = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
    for _ in range(2):
        there.add_node(**NODE)
    ray.init(address=there.address, log_to_driver=False, configure_logging=False)
    yield there
    ray.shutdown()
    there.shutdown()


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Compiled code that all shards start from; without it each would compile for the better part of a minute."""
    if "NUMBA_CACHE_DIR" in os.environ:
        in_one_process(batches(4))  # fills it, if need be
        return os.environ["NUMBA_CACHE_DIR"]
    folder = tmp_path_factory.mktemp("compiled")
    code = "from fleet.test_ray_fleet import *; in_one_process(batches(4))[0].predict('a', batches(1)[0][1])"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=TESTS, env=environment)
    return str(folder)


@pytest.fixture
def options(cluster, cache, tmp_path, monkeypatch):  # noqa: ARG001 - the cluster must be there
    """Few batches on their way, frequent checkpoints; the caches of workers go where the test's files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return RayOptions(checkpoint_every=5, max_in_flight=3, cpus_per_shard=0.1, filled_cache=cache)


def in_one_process(stream):
    fleet = Fleet(template())
    runs = [fleet.learn(*batch) for batch in stream]
    fleet.predict("a", stream[0][1])
    return fleet, runs


def kill_shard(fleet, shard):
    ray.kill(fleet._dispatcher.queues[shard].actor, no_restart=False)


def process_of(fleet, shard):
    return ray.get(fleet._dispatcher.queues[shard].actor.__ray_call__.remote(lambda _: os.getpid()))


def test_the_same_bits_and_other_numbers_of_shards(options, tmp_path):
    stream = batches(14)
    wanted, runs = in_one_process(stream)
    with RayFleet(template(), 2, tmp_path / "fleet", options=options) as fleet:
        pending = [fleet.submit(*batch) for batch in stream[:7]]
        for got, run in zip(pending, runs, strict=False):
            assert_same_run(got.result(), run)
    with RayFleet.resume(tmp_path / "fleet", 3, options=options) as fleet:
        assert (fleet.n_shards, fleet.n_rows) == (3, 84)
        for batch, run in zip(stream[7:], runs[7:], strict=True):
            assert_same_run(fleet.learn(*batch), run)
        keys, X, _, _ = stream[5]
        np.testing.assert_array_equal(fleet.predict(keys, X, return_std=True), wanted.predict(keys, X, return_std=True))
        fleet.save(tmp_path / "file")
    assert_same_fleet(Fleet.load(tmp_path / "file"), wanted)


def test_a_slow_shard_holds_the_driver_back(options, tmp_path):
    stream = [batch for batch in batches(40) if len(set(batch[0])) > 4][:12]
    fleet = RayFleet(template(), 2, tmp_path / "fleet", options=options)
    fleet.learn(*stream[0])
    sleeper = process_of(fleet, 1)
    os.kill(sleeper, signal.SIGSTOP)
    try:
        done: list[object] = []
        driver = threading.Thread(target=lambda: done.extend(fleet.submit(*batch) for batch in stream[1:]))
        driver.start()
        time.sleep(1.5)
        assert driver.is_alive()
        assert fleet.n_rows == 12 * (1 + options.max_in_flight)
        assert max(len(queue.in_flight) for queue in fleet._dispatcher.queues) == options.max_in_flight
    finally:
        os.kill(sleeper, signal.SIGCONT)
    driver.join(60.0)
    assert not driver.is_alive()
    assert_same_fleet(fleet.to_fleet(), in_one_process(stream)[0])
    fleet.close()


def test_resuming_after_the_driver_was_killed(cluster, options, tmp_path):
    folder, journal = tmp_path / "fleet", tmp_path / "fleet" / "journal"
    command = [sys.executable, "-m", "fleet.ray_driver", cluster.address, str(folder), options.filled_cache]
    driver = subprocess.Popen(command, cwd=TESTS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 120.0
        while not any(int(path.stem) > 23 for path in journal.glob("0*.batch")):
            assert driver.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    fleet = RayFleet.resume(folder, options=options)
    done = fleet.n_rows // 12
    assert done >= 24
    stream = batches(done + 6)
    wanted, runs = in_one_process(stream)
    assert [pending.number for pending in fleet.recovered] == [done - 2, done - 1, done]
    for pending in fleet.recovered:
        assert_same_run(pending.result(), runs[pending.number - 1])
    for batch, run in zip(stream[done:], runs[done:], strict=True):
        assert_same_run(fleet.learn(*batch), run)
    assert_same_fleet(fleet.to_fleet(), wanted)
    fleet.close()


def stream_through_deaths(cluster, options, folder, n_batches, deaths, n_shards, pause):
    """``deaths``: for some batches, what dies when it has been submitted."""
    stream = batches(n_batches)
    wanted, runs = in_one_process(stream)
    fleet = RayFleet(template(), n_shards, folder, options=options)
    rng, pending, n_killed = np.random.default_rng(3), [], 0
    processes = {process_of(fleet, shard) for shard in range(n_shards)}
    for number, batch in enumerate(stream):
        pending.append(fleet.submit(*batch))
        what = deaths.get(number)
        if what is None:
            continue
        time.sleep(rng.uniform(0.0, pause))
        if what == "node":
            fleet_node = rng.choice(sorted(cluster.worker_nodes, key=lambda node: node.node_id))
            cluster.add_node(**NODE)
            cluster.remove_node(fleet_node, allow_graceful=False)
        else:
            kill_shard(fleet, int(rng.integers(n_shards)))
        n_killed += 1
    for got, run in zip(pending, runs, strict=True):
        assert_same_run(got.result(timeout=300.0), run)
    assert fleet.n_samples_seen_ == wanted.n_samples_seen_
    keys, X, _, _ = stream[5]
    np.testing.assert_array_equal(fleet.predict(keys, X), wanted.predict(keys, X))
    assert_same_fleet(fleet.to_fleet(), wanted)
    assert {process_of(fleet, shard) for shard in range(n_shards)} != processes
    fleet.close()
    return n_killed


def test_killed_shards_and_a_killed_node(cluster, options, tmp_path):
    deaths = {7: "shard", 13: "node", 24: "shard"}
    assert stream_through_deaths(cluster, options, tmp_path / "fleet", 30, deaths, n_shards=2, pause=0.05) == 3


@pytest.mark.slow
def test_killed_shards_and_nodes_many_times(cluster, options, tmp_path):
    """At random moments: while it learns, while it comes back, while it stores."""
    rng = np.random.default_rng(0)
    when = np.sort(rng.choice(np.arange(5, 290), size=28, replace=False))
    deaths = {int(number): "node" if i % 7 == 6 else "shard" for i, number in enumerate(when)}
    assert stream_through_deaths(cluster, options, tmp_path / "fleet", 300, deaths, n_shards=3, pause=1.0) == 28
