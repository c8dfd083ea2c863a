"""Put a reproduction into the docs: its tables and verdicts between marks of docs/results.md, its figures beside.

    iegp-paper --out results
    python paper/benchmarks/results_page.py results full

The marks are <!-- results full --> and <!-- end of results full -->; what stands outside is written by hand.
"""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
LINK = re.compile(r"\[([^]]*)\]\(#[^)]*\)")


def measured_part(text: str, block: str) -> str:
    """The command's page without its title, one level down; headings may occur twice, so nothing links to them."""
    body = text.split("\n", 1)[1].strip().replace("\n## ", "\n#### ")
    return LINK.sub(r"\1", body).replace("(figures/", f"(images/results/{block}/")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="the folder of iegp-paper")
    parser.add_argument("block", help="which marks: full")
    arguments = parser.parse_args()
    begin, end = f"<!-- results {arguments.block} -->", f"<!-- end of results {arguments.block} -->"
    page = DOCS / "results.md"
    text = page.read_text("utf-8")
    if begin not in text or end not in text:
        raise SystemExit(f"{page} has no marks {begin} and {end}; write them where the tables belong")
    before, _, rest = text.partition(begin)
    measured = measured_part((arguments.results / "results.md").read_text("utf-8"), arguments.block)
    page.write_text(f"{before}{begin}\n\n{measured}\n\n{end}{rest.partition(end)[2]}", "utf-8")
    images = DOCS / "images" / "results" / arguments.block
    shutil.rmtree(images, ignore_errors=True)
    shutil.copytree(arguments.results / "figures", images)
    print(f"{page}: {len(measured):,} characters, {len(list(images.iterdir()))} figures")


if __name__ == "__main__":
    main()
