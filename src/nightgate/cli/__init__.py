"""The command line: parse, one call, print, exit code.

Owns no meaning. ``nightgate --help`` and ``check`` import neither Prefect nor Strands nor boto3: each
command imports what it needs when it runs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nightgate.cli.parser import build_parser
from nightgate.errors import ExitCode, NightgateError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        The exit code (contract, section 5); also what ``sys.exit`` gets from the console script.
    """
    parser = build_parser()
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help()
        return ExitCode.OK
    try:
        return int(args.handler(args))
    except NightgateError as error:
        print(f"nightgate: {_safe(str(error))}", file=sys.stderr)
        return int(error.exit_code)
    except KeyboardInterrupt:
        print("nightgate: interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`| head`); Python would complain once more while it flushes stdout.
        sys.stderr.close()
        return ExitCode.OK


def _safe(text: str) -> str:
    """A message line by line without control characters: it may quote what a file or a model said."""
    from nightgate.reports.text import plain

    return "\n".join(plain(line) for line in text.split("\n"))
