"""Put a reproduction into the docs: its tables and verdicts between the marks of docs/results.md, its figures beside.

    iegp reproduce --quick --out results
    python benchmarks/results_page.py results

What stands outside the marks is written by hand and stays.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- results -->", "<!-- end of results -->"
IMAGES = "images/results"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="the folder of iegp reproduce")
    results: Path = parser.parse_args().results
    measured = (results / "results.md").read_text("utf-8").split("\n", 1)[1].strip()
    measured = measured.replace("(figures/", f"({IMAGES}/")
    page = DOCS / "results.md"
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{measured}\n\n{END}{after}", "utf-8")
    shutil.rmtree(DOCS / IMAGES, ignore_errors=True)
    shutil.copytree(results / "figures", DOCS / IMAGES)
    print(f"{page}: {len(measured):,} characters, {len(list((DOCS / IMAGES).iterdir()))} figures")


if __name__ == "__main__":
    main()
