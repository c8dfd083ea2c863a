"""``python -m iegp_paper``."""

from iegp_paper.app import main

main()
