"""The command line: parse, one call, print, exit code.

Owns no meaning. ``nightgate --help`` and ``check`` import neither Prefect nor Strands nor boto3: each
command imports what it needs when it runs.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
import traceback
from collections.abc import Sequence

from nightgate.cli.parser import build_parser
from nightgate.errors import ExitCode, NightgateError
from nightgate.plaintext import harmless


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
    code = _answer(args)
    return code if argv is not None else _left(code)


def _answer(args: argparse.Namespace) -> int:
    """What the command answers, whatever happens in it."""
    try:
        if os.environ.get("NIGHTGATE_LOG") or os.environ.get("NIGHTGATE_LOG_LEVEL"):
            from nightgate.logs import set_up

            set_up()
        return int(args.handler(args))
    except NightgateError as error:
        print(f"nightgate: {_safe(str(error))}", file=sys.stderr)
        return int(error.exit_code)
    except KeyboardInterrupt:
        print("nightgate: interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`| head`) before it was told; nobody may take that for a pass. Python
        # would complain once more while it flushes stdout.
        sys.stderr.close()
        return ExitCode.INCONCLUSIVE
    except OSError as error:  # a full disk, a folder without rights
        running = args.command in ("run", "nightly")
        return _stopped(f"{error}: the run stopped; go on with --resume" if running else str(error))
    except (Exception, SystemExit) as error:  # left alone it would answer 1, which says that the gate failed
        print(harmless(_redacted(traceback.format_exc())), file=sys.stderr)
        return _stopped(f"stopped by {type(error).__name__}: nothing is decided; a run goes on with --resume")


def _left(code: int) -> int:
    """The code, at once where a tool still hangs in a thread: Python would wait for it for ever."""
    deadline = time.monotonic() + 1.0
    for thread in threading.enumerate():
        if thread.name.startswith("nightgate"):
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
    return code


def _stopped(why: str) -> int:
    print(f"nightgate: {_safe(why)}", file=sys.stderr)
    return ExitCode.INCONCLUSIVE


def _safe(text: str) -> str:
    """A message line by line without control characters: it may quote what a file or a model said."""
    from nightgate.reports.text import plain

    return "\n".join(plain(line) for line in _redacted(text).split("\n"))


def _redacted(text: str) -> str:
    """Exceptions of users' code quote what they hold, keys included."""
    from nightgate.rows.redaction import redact_text

    return redact_text(text)
