"""Checks wheels to be published: their size, metadata and licences, and that they name no path of this machine.

    wheel.py DIRECTORY...
"""

import email
import os
import sys
import zipfile
from pathlib import Path

MOST_BYTES = 10_000_000


def wrong(path: Path) -> list[str]:
    """The faults of a wheel."""
    found = []
    if path.stat().st_size > MOST_BYTES:
        found.append(f"has {path.stat().st_size} bytes, more than {MOST_BYTES}")
    places = {os.path.expanduser("~"), os.getcwd(), os.environ.get("CARGO_HOME", ""), "/root/.cargo", "/home/runner"}
    places |= {place.replace("/", "\\") for place in places}
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        for name in names:
            content = wheel.read(name)
            found += [f"{name} names {place}" for place in sorted(places) if len(place) > 3 and place.encode() in content]
        metadata = email.message_from_bytes(wheel.read(next(name for name in names if name.endswith("/METADATA"))))
    fields = ["Author", "License-Expression", "License-File", "Requires-Python", "Classifier"]
    # Where it is published, `urls.py` has added the address of the repository.
    fields += ["Project-URL"] if "GITHUB_REPOSITORY" in os.environ else []
    for field in fields:
        if not metadata.get_all(field):
            found.append(f"its metadata have no {field}")
    for wanted in ("LICENSE-APACHE", "LICENSE-MIT", "py.typed", "_tracelake.pyi"):
        if not any(name.endswith(f"/{wanted}") for name in names):
            found.append(f"has no {wanted}")
    return found


wheels = [path for directory in sys.argv[1:] for path in Path(directory).glob("*.whl")]
findings = [f"{path.name} {one}" for path in wheels for one in wrong(path)]
if not wheels or findings:
    sys.exit("\n".join(findings) or "there are no wheels")
