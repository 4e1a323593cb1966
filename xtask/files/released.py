"""Validates the descriptions in released lakes, whose directories are named, with programs of others.

One process for all: importing the validators takes longer than they do.
"""

import os
import sys

import frictionless
import mlcroissant

for lake in sys.argv[1:]:
    os.chdir(lake)
    mlcroissant.Dataset(jsonld="croissant.json")
    report = frictionless.validate("datapackage.json")
    if not report.valid:
        sys.exit(f"{lake}/datapackage.json: {report.to_summary()}")
