"""What is written down: schemas, records, parts and manifests.

Owns the stored form of trials, scores and calls. Knows no store: everything here turns values
into bytes and back. Nothing is imported here, so that ``rows.keys`` and ``rows.records`` stay
free of pyarrow.
"""
