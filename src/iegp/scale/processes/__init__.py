"""One ensemble over several processes of this machine: experts are dealt out, weights stay together.

Touch this room to change how experts are spread and how rows reach them. What they compute is in ``iegp.core``.
"""
