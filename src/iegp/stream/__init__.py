"""The main job: a stream of records in, an answer to each, a model that can stop anywhere and resume.

A row changes its container four times on its way from a file to a belief: bytes cut into records
(:class:`~iegp.readers.record_cutter.Span`), columns (:class:`~iegp.readers.Records`), rows of numbers
(:meth:`~iegp.preprocessing.encoder.Encoder.raw`), and the standardised rows of :mod:`iegp.core.model`.
:class:`~iegp.stream.runner.Runner` is the loop of all runs (blocks, checkpoints, journal, resuming), of streams and of
maps alike.
"""
