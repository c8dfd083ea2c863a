"""Fleets on a Ray cluster: the public class."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from iegp._docstrings import fill_docstrings
from iegp._writers import one_writer
from iegp.core.predictive.mixture import Mixture
from iegp.core.settings import check_whole
from iegp.errors import InputError
from iegp.fleet.base import FleetBase
from iegp.fleet.checks import Key, check_keys, check_level
from iegp.fleet.cluster import checkpoint, layout
from iegp.fleet.cluster.checkpoint import Checkpoint
from iegp.fleet.cluster.dispatcher import Dispatcher
from iegp.fleet.cluster.journal import Batch, Routed
from iegp.fleet.cluster.layout import Layout
from iegp.fleet.cluster.options import RayOptions
from iegp.fleet.cluster.pending import Pending
from iegp.fleet.cluster.shard import answer_of, need_ray
from iegp.fleet.cluster.sharding import cut, joined, reshard, rows_by_shard
from iegp.fleet.fleet import Fleet
from iegp.fleet.run import FleetRun
from iegp.fleet.shared_docs import FLEET
from iegp.fleet.template import Template

DEFAULTS = RayOptions()


@fill_docstrings(FLEET)
class RayFleet(FleetBase):
    """A :class:`~iegp.Fleet` with its keys spread over the actors of a Ray cluster.

    Predictions equal those of a fleet in one process. Every accepted batch is learned exactly once, also after
    failures: a shard that is lost with its process or machine is restored from its checkpoint, on any remaining
    machine, and sent the batches after it; after a failure of the driver, :meth:`resume` continues. ``docs/ray.md`` has
    the assumptions.

    ``ray.init(address="auto")`` connects to a cluster started with ``ray start``; without it Ray starts one on this
    machine. Not safe for use from several threads at once.

    Parameters
    ----------
    template : IEGPRegressor
        As for :class:`~iegp.Fleet`: a model past its warm-up.
    n_shards : int
        Number of actors, each with a share of the keys.
    checkpoint_folder : path
        New or empty folder, which all machines can access under this path.
    dtype : {"float64", "float32"}, default="float64"
        How beliefs are stored.
    options : RayOptions
        Frequency of checkpoints, largest number of pending batches, and the like.

    Attributes
    ----------
    recovered : list of Pending
        After :meth:`resume`, the predictions of the last batches: those that the driver may not have used.

    Examples
    --------
    >>> with RayFleet(template, n_shards=4, checkpoint_folder="/shared/pumps") as fleet:  # doctest: +SKIP
    ...     run = fleet.learn(keys, X, y)
    """

    recovered: list[Pending]

    def __init__(
        self,
        template: Template,
        n_shards: int,
        checkpoint_folder: str | os.PathLike[str],
        *,
        dtype: str = "float64",
        options: RayOptions = DEFAULTS,
    ) -> None:
        need_ray()
        self._begin(Fleet(template, dtype=dtype), n_shards, Path(checkpoint_folder).absolute(), options)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        n_shards: int,
        checkpoint_folder: str | os.PathLike[str],
        *,
        options: RayOptions = DEFAULTS,
    ) -> Self:
        """Spread the keys of a file, written by :meth:`save` or :meth:`iegp.Fleet.save`, over new shards.

        Parameters
        ----------
        path : str or path
            The file.
        n_shards : int
            Number of actors.
        checkpoint_folder : path
            New or empty folder, as in the constructor.
        options : RayOptions
            As in the constructor.

        Returns
        -------
        RayFleet
            With all keys of the file.
        """
        need_ray()
        fleet = cls.__new__(cls)
        fleet._begin(Fleet.load(path), n_shards, Path(checkpoint_folder).absolute(), options)
        return fleet

    @classmethod
    def resume(
        cls,
        checkpoint_folder: str | os.PathLike[str],
        n_shards: int | None = None,
        *,
        options: RayOptions = DEFAULTS,
    ) -> Self:
        """Continue after the driver was closed or killed.

        ``n_rows`` is the number of input rows that were accepted: continue with the next one. The predictions of the
        last batches among them are in ``recovered``.

        Parameters
        ----------
        checkpoint_folder : path
            Folder of the fleet.
        n_shards : int or None, default=None
            Another number of shards; ``None`` keeps it.
        options : RayOptions
            As in the constructor.

        Returns
        -------
        RayFleet
            With all rows learned that were accepted.
        """
        need_ray()
        fleet = cls.__new__(cls)
        folder = Path(checkpoint_folder).absolute()
        found = layout.read(folder)
        if n_shards is not None:
            check_whole("n_shards", n_shards, 1)
        fleet._open(folder, found, options)
        if n_shards is not None and n_shards != found.n_shards:
            fleet._redistribute(found, n_shards, options)
        return fleet

    def _begin(self, fleet: Fleet, n_shards: int, folder: Path, options: RayOptions) -> None:
        """Write the layout of a new fleet into an empty folder, last of all its files, and open it."""
        check_whole("n_shards", n_shards, 1)
        if layout.is_used(folder):
            raise InputError(
                f"checkpoint_folder={str(folder)!r} holds a fleet already; continue it with RayFleet.resume, or name "
                "another folder"
            )
        first = Layout(n_shards, generation=0, window=options.max_in_flight, began_after=0)
        layout.journal_of(folder).mkdir(parents=True, exist_ok=True)
        first.shards(folder).mkdir(exist_ok=True)
        fleet.empty_copy().save(layout.template_of(folder))
        for shard, part in enumerate(cut(fleet, n_shards)):
            checkpoint.save(first.shards(folder), shard, Checkpoint(part, 0, {}))
        layout.write(folder, first)
        self._open(folder, first, options)

    def _open(self, folder: Path, found: Layout, options: RayOptions) -> None:
        self._template = Fleet.load(layout.template_of(folder))
        self._model = self._template.template
        self.single_output, self.feature_names = self._template.single_output, self._template.feature_names
        self._folder, self._layout = folder, found
        self._dispatcher = Dispatcher(folder, found, options)
        self.recovered = self._dispatcher.recovered
        if found.window < options.max_in_flight:
            # Written after shards keep more answers: the number in the file may be too small, never too large.
            self._layout = Layout(found.n_shards, found.generation, options.max_in_flight, found.began_after)
            layout.write(folder, self._layout)

    def _redistribute(self, old: Layout, n_shards: int, options: RayOptions) -> None:
        dispatcher, recovered = self._dispatcher, self.recovered
        dispatcher.checkpoint()
        dispatcher.stop()
        newest = dispatcher.journal.newest
        new = Layout(n_shards, old.generation + 1, self._layout.window, began_after=newest)
        states = old.shards(self._folder), new.shards(self._folder)
        reshard(need_ray(), states[0], old.n_shards, states[1], n_shards, newest, options.cpus_per_shard)
        layout.write(self._folder, new)
        self._open(self._folder, new, options)
        self.recovered = recovered

    # -- learning ----------------------------------------------------------------------------------------------------

    @one_writer
    def learn(self, keys: Any, X: ArrayLike, y: ArrayLike, level: float | None = None) -> FleetRun:
        """Predict each row, then learn it, as :meth:`iegp.Fleet.learn` does; wait for the predictions.

        {parameters}

        {returns_run}
        """
        return self.submit(keys, X, y, level).result()

    def submit(self, keys: Any, X: ArrayLike, y: ArrayLike, level: float | None = None) -> Pending:
        """Do the same as :meth:`learn` without waiting for the predictions, so that the shards need not wait.

        Waits only while ``max_in_flight`` batches are pending. When it returns, the batch is in the journal and will be
        learned once, also after failures. Input is checked before that.

        {parameters}

        Returns
        -------
        Pending
            Its ``result()`` waits for the predictions.
        """
        check_level(level)
        model = self._model
        # Copies: the caller may use its arrays again while a shard has yet to learn these.
        rows = self._check_rows(X).copy()
        names = check_keys(keys, len(rows))
        labels = self._check_labels(y, len(rows)).copy()
        model.scaling.standardise_x(rows)  # refuses numbers that are too large
        model.scaling.standardise_y(labels)
        dispatcher = self._open_dispatcher()
        if self.single_output:
            labels = labels[:, 0]
        if not names:
            nothing = Batch(dispatcher.journal.newest, self.n_rows, names, rows, labels, level)
            return Pending(
                Routed(nothing, {}), dispatcher.wait, answer_of(self._template.learn([], rows, labels, level))
            )
        return dispatcher.submit(names, rows, labels, level)

    def flush(self) -> None:
        """Wait until all accepted batches are learned and predicted."""
        self._open_dispatcher().flush()

    # -- predicting --------------------------------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        """Rows accepted since the fleet began: the position in the input after :meth:`resume`."""
        return self._dispatcher.n_rows

    @property
    def n_shards(self) -> int:
        """Actors that hold the keys."""
        return self._layout.n_shards

    @property
    def keys(self) -> list[Key]:
        """All keys, shard by shard."""
        return [key for part in self._read("keys") for key in part]

    @property
    def n_samples_seen_(self) -> dict[Key, int]:
        """Rows learned by each key, those of the template included."""
        return {key: n for part in self._read("n_samples_seen_") for key, n in part.items()}

    def _read(self, name: str) -> list[Any]:
        answers = self._open_dispatcher().ask("read_attribute", dict.fromkeys(range(self.n_shards), (name,)))
        return [answers[shard] for shard in range(self.n_shards)]

    def __repr__(self) -> str:
        return f"RayFleet({self.n_shards} shards, {self.n_rows} rows accepted, in {str(self._folder)!r})"

    def predict_dist(self, keys: Any, X: ArrayLike) -> Mixture:
        model = self._model
        rows = self._check_rows(X)
        names = check_keys(keys, len(rows))
        model.scaling.standardise_x(rows)  # refuses numbers that are too large
        homes = rows_by_shard(names, self.n_shards)
        asked = {shard: ([names[row] for row in chosen], rows[chosen]) for shard, chosen in homes.items()}
        parts = self._open_dispatcher().ask("predict", asked)
        n, n_experts = len(rows), model.experts.ensemble.n_experts
        shape = n, n_experts, model.n_outputs
        whole = np.empty((n, n_experts)), np.empty(shape), np.empty(shape), np.empty(shape)
        for shard, chosen in homes.items():
            for column, part in zip(whole, parts[shard], strict=True):
                column[chosen] = part
        return Mixture.unchecked(*whole, self.single_output)

    # -- storing -----------------------------------------------------------------------------------------------------

    def checkpoint(self) -> None:
        """Store all shards after all accepted batches. This shortens the journal."""
        self._open_dispatcher().checkpoint()

    def to_fleet(self, n_jobs: int | None = None) -> Fleet:
        """Copy all keys into one :class:`~iegp.Fleet` of this process; they must fit into its memory.

        Parameters
        ----------
        n_jobs : int or None, default=None
            Threads over which keys are spread; -1 uses all cores.

        Returns
        -------
        Fleet
            With the states after all accepted batches.
        """
        self.checkpoint()
        states = self._layout.shards(self._folder)
        fleet = joined([checkpoint.load(states, shard).fleet for shard in range(self.n_shards)])
        fleet.n_jobs = n_jobs
        return fleet

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all keys to one file, for :meth:`load` and :meth:`iegp.Fleet.load`.

        {parameters}
        """
        self.to_fleet().save(path)

    def close(self) -> None:
        """Learn all accepted batches, store all shards and stop them. :meth:`resume` restarts them."""
        if self._dispatcher.queues:
            self._dispatcher.checkpoint()
            self._dispatcher.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        """Close; after an error stop the shards without storing them: the journal has the rest."""
        if kind is None:
            self.close()
        else:
            self._dispatcher.stop()

    def _open_dispatcher(self) -> Dispatcher:
        if not self._dispatcher.queues:
            raise InputError(f"this fleet is closed; RayFleet.resume({str(self._folder)!r}) opens it again")
        return self._dispatcher
