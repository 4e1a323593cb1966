"""Adds the address of the repository to the metadata of the wheel and the sdist, before they are built to be published.

    urls.py https://example.org/owner/name
"""

import sys
from pathlib import Path

repository = sys.argv[1].rstrip("/")
project = Path(__file__).with_name("pyproject.toml")
urls = {
    "Repository": repository,
    "Documentation": f"{repository}/blob/HEAD/docs/start.md",
    "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
    "Issues": f"{repository}/issues",
}
lines = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
with project.open("a", encoding="utf-8") as file:
    file.write(f"\n[project.urls]\n{lines}")
