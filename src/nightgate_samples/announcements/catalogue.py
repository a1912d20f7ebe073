"""The invented cloud provider: its services, and what each of them ever had to announce.

Owns names and wording. Knows no date but those of the launches, no database and no agent:
``generate`` decides when the rest was announced. Brindlewick Cloud does not exist, nor does anything
that it sells; the cities do, and three of them are written with accents on purpose.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Final, Literal, get_args

Service = Literal[
    "Courier", "Stow", "Kiln", "Ferry", "Almanac", "Belfry", "Gatehouse", "Quarry", "Mote", "Quill"
]
"""The closed list stands in the tool's schema too, so that the model chooses and nothing is guessed."""

SERVICES: Final[tuple[Service, ...]] = get_args(Service)

PROVIDER: Final = "Brindlewick Cloud"

REGIONS: Final = (
    "Dublin",
    "Singapore",
    "São Paulo",
    "Tokyo",
    "Zürich",
    "Montreal",
    "Bogotá",
    "Mumbai",
    "Lisbon",
    "Nairobi",
    "Helsinki",
    "Auckland",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One service, and the pool of things that it announces, each of them once."""

    launched: dt.date
    what: str
    """What it is, as its launch says it."""
    features: tuple[str, ...]
    """In the order in which they came."""
    limits: tuple[tuple[str, tuple[str, ...]], ...]
    """What is limited, and its limits from the first to the present one."""
    prices: tuple[str, ...]
    """What has a price of its own."""
    retired: tuple[tuple[str, str], ...]
    """What is given up, and what to use instead."""


CATALOGUE: Final[dict[Service, Facts]] = {
    "Courier": Facts(
        launched=dt.date(2004, 5, 11),
        what="message queues that keep every message until it is read",
        features=(
            "delayed messages",
            "dead letter queues",
            "batch sending",
            "strictly ordered queues",
            "message attributes",
            "server-side encryption",
            "long polling",
            "topic subscriptions",
            "duplicate detection",
            "queue replay",
            "filter rules for subscribers",
        ),
        limits=(
            ("message size", ("8 KB", "64 KB", "256 KB", "1 MB")),
            ("retention period", ("4 days", "14 days", "30 days", "90 days")),
            ("batch size", ("10 messages", "50 messages", "200 messages")),
        ),
        prices=("standard queues", "large messages", "message storage"),
        retired=(
            ("the XML interface", "the JSON interface"),
            ("unsigned requests", "signed requests"),
            ("short-lived queue aliases", "queue names"),
        ),
    ),
    "Stow": Facts(
        launched=dt.date(2004, 9, 28),
        what="object storage that grows without being asked",
        features=(
            "versioned objects",
            "multipart uploads",
            "lifecycle rules",
            "static websites",
            "write-once buckets",
            "cross-region copies",
            "server-side encryption",
            "inventory reports",
            "conditional writes",
            "object tags",
            "weather-proof vault copies",
        ),
        limits=(
            ("object size", ("5 GB", "50 GB", "5 TB", "50 TB")),
            ("buckets per account", ("100", "500", "10,000")),
            ("parts of one upload", ("1,000", "10,000")),
        ),
        prices=("standard storage", "cold storage", "requests", "retrieval from cold storage"),
        retired=(
            ("bucket names with capital letters", "lower-case names"),
            ("the torrent download", "Ferry"),
            ("access lists on single objects", "bucket policies"),
        ),
    ),
    "Kiln": Facts(
        launched=dt.date(2006, 8, 22),
        what="virtual machines by the minute",
        features=(
            "machine images",
            "reserved machines",
            "spot machines",
            "placement groups",
            "machines with graphics processors",
            "hibernation",
            "machines with Arm processors",
            "live resizing",
            "dedicated hosts",
            "confidential machines",
            "capacity blocks",
        ),
        limits=(
            ("memory of one machine", ("16 GB", "64 GB", "512 GB", "4 TB", "24 TB")),
            ("machines per account", ("20", "100", "1,000")),
            ("attached disks", ("8", "27", "64")),
        ),
        prices=("small machines", "memory machines", "disks", "outgoing traffic"),
        retired=(
            ("the first machine generation", "the fourth generation"),
            ("shared flat networks", "private networks"),
            ("paravirtual images", "hardware images"),
        ),
    ),
    "Ferry": Facts(
        launched=dt.date(2008, 10, 14),
        what="content delivery from the edge nearest to the reader",
        features=(
            "custom certificates",
            "video streaming",
            "signed addresses",
            "edge functions",
            "compressed delivery",
            "origin failover",
            "live logs",
            "country rules",
            "header policies",
            "image resizing",
        ),
        limits=(
            ("file size", ("5 GB", "20 GB", "50 GB")),
            ("rules per distribution", ("10", "25", "75")),
            ("origins per distribution", ("10", "25", "100")),
        ),
        prices=("data transfer", "secure requests", "cache purges"),
        retired=(
            ("the Flash streaming endpoint", "plain video streaming"),
            ("shared certificates", "custom certificates"),
            ("old edge ciphers", "modern ciphers"),
        ),
    ),
    "Almanac": Facts(
        launched=dt.date(2009, 6, 9),
        what="relational databases that somebody else patches",
        features=(
            "read replicas",
            "point-in-time recovery",
            "standby in a second zone",
            "slow query reports",
            "storage that grows by itself",
            "encrypted databases",
            "proxy connections",
            "blue-green upgrades",
            "weather and tide sample tables",
            "vector columns",
            "serverless databases",
        ),
        limits=(
            ("database size", ("1 TB", "6 TB", "16 TB", "64 TB")),
            ("connections per database", ("500", "2,000", "16,000")),
            ("backup retention", ("8 days", "35 days", "180 days")),
        ),
        prices=("small databases", "memory databases", "backup storage", "provisioned disk speed"),
        retired=(
            ("database engine 5.1", "engine 8.0"),
            ("magnetic disks", "solid-state disks"),
            ("unencrypted connections", "encrypted connections"),
        ),
    ),
    "Belfry": Facts(
        launched=dt.date(2010, 2, 23),
        what="metrics and alarms for everything that runs",
        features=(
            "custom metrics",
            "dashboards",
            "log search",
            "composite alarms",
            "anomaly bands",
            "traces",
            "synthetic checks",
            "metric streams",
            "alarm recommendations",
            "cross-account views",
        ),
        limits=(
            ("metric retention", ("14 days", "15 months", "36 months")),
            ("alarms per account", ("500", "5,000", "20,000")),
            ("metrics per query", ("50", "100", "500")),
        ),
        prices=("metrics", "log storage", "alarms"),
        retired=(
            ("e-mail alarms without confirmation", "confirmed contacts"),
            ("the agent for 32-bit systems", "the unified agent"),
            ("the first dashboard format", "the second format"),
        ),
    ),
    "Gatehouse": Facts(
        launched=dt.date(2011, 5, 17),
        what="accounts, roles and permissions in one place",
        features=(
            "second factors",
            "roles for machines",
            "policy simulator",
            "single sign-on",
            "access reports",
            "permission boundaries",
            "passkeys",
            "roles outside of the cloud",
            "unused access findings",
            "policy checks before deployment",
        ),
        limits=(
            ("roles per account", ("250", "1,000", "5,000")),
            ("policy length", ("2 KB", "6 KB", "10 KB")),
            ("groups per user", ("10", "50")),
        ),
        prices=("directory users", "directory groups"),
        retired=(
            ("the text message factor", "passkeys"),
            ("root access keys", "roles"),
            ("the first policy version", "the second version"),
        ),
    ),
    "Quarry": Facts(
        launched=dt.date(2012, 11, 27),
        what="a data warehouse for questions over billions of rows",
        features=(
            "columnar compression",
            "queries on files in Stow",
            "materialized views",
            "workload queues",
            "data sharing",
            "pausing clusters",
            "zero-copy links to Almanac",
            "nested columns",
            "row permissions",
            "open table formats",
        ),
        limits=(
            ("cluster size", ("32 nodes", "100 nodes", "128 nodes")),
            ("parallel queries", ("15", "50", "500")),
            ("tables per cluster", ("9,900", "20,000", "200,000")),
        ),
        prices=("storage nodes", "compute nodes", "backup storage"),
        retired=(
            ("dense storage nodes", "managed storage nodes"),
            ("the old driver", "the second driver"),
        ),
    ),
    "Mote": Facts(
        launched=dt.date(2014, 11, 12),
        what="functions that run when something happens",
        features=(
            "scheduled functions",
            "shared layers",
            "functions as container images",
            "retries with a destination",
            "provisioned concurrency",
            "function addresses",
            "streamed responses",
            "snapshot starts",
            "function versions",
            "durable functions",
        ),
        limits=(
            ("running time", ("1 minute", "5 minutes", "15 minutes")),
            ("memory of a function", ("1 GB", "3 GB", "10 GB")),
            ("scratch space", ("512 MB", "10 GB")),
        ),
        prices=("running time", "requests", "scratch space"),
        retired=(
            ("runtime 0.10", "runtime 22"),
            ("runtime 2.7", "runtime 3.13"),
            ("synchronous event copies", "destinations"),
        ),
    ),
    "Quill": Facts(
        launched=dt.date(2022, 12, 6),
        what="language models behind one interface",
        features=(
            "fine-tuning",
            "prompt caching",
            "guardrails",
            "batch inference",
            "agents with tools",
            "model evaluation",
            "image input",
            "knowledge bases",
        ),
        limits=(
            ("context window", ("8,000 tokens", "100,000 tokens", "200,000 tokens", "1,000,000 tokens")),
            ("requests per minute", ("60", "400", "2,000")),
        ),
        prices=("small models", "medium models", "large models"),
        retired=(("the first small model", "the third small model"),),
    ),
}
