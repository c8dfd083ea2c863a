"""``python -m iegp`` is the command ``iegp``."""

from iegp.cli.entry import main

if __name__ == "__main__":
    main()
