"""``nightgate label RUN``: a sheet of judged trials for people to fill in."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from nightgate.cli.output import check_writable, people, write_json
from nightgate.cli.stores import run_of, store_of
from nightgate.errors import ExitCode, InputError, NightgateError


class SheetExistsError(NightgateError):
    """The file is there: somebody may have filled it in."""

    exit_code = ExitCode.FAILED


def run(args: argparse.Namespace) -> int:
    """Write the sheet and say what to do with it."""
    from nightgate.calibration import Sample
    from nightgate.cases import load_suite
    from nightgate.steps.labelling import sheet_of

    if args.out == "-" and args.json == "-":
        raise InputError("--out - and --json -: only one of them can have stdout")
    check_writable(args.json)
    store = store_of(args)
    run_id = run_of(store, args.run)
    path = Path(args.out or f"labels-{run_id}.csv")
    if args.out != "-" and path.exists():
        raise _exists(path)
    sheet = sheet_of(
        store,
        run_id,
        args.sample,
        evaluator=args.evaluator,
        suite=load_suite(args.suite) if args.suite else None,
        seed=args.seed,
        sample=Sample.RANDOM if args.random else Sample.STRATIFIED,
    )
    out = people(args.json)
    if args.out == "-":
        sys.stdout.write(sheet.text)
        out = sys.stderr
    else:
        _write(path, sheet.text)
    print(f"{sheet.rows} of {sheet.judged} judged cells of run {sheet.run_id}", file=out)
    if sheet.left_out:
        print(
            f"{sheet.left_out} more are left out: the suite asks something else of them than the run's judge "
            "was asked",
            file=out,
        )
    if args.out != "-":
        print(f"wrote {path}", file=out)
        print(
            "next: fill in the column label with pass or fail, put the file into the suite's labels/, "
            "then `nightgate calibrate SUITE`",
            file=out,
        )
    figures = {
        "schema": 1,
        "run_id": sheet.run_id,
        "rows": sheet.rows,
        "judged": sheet.judged,
        "left_out": sheet.left_out,
    }
    write_json({**figures, "path": None if args.out == "-" else str(path)}, args.json)
    return ExitCode.OK


def _write(path: Path, text: str) -> None:
    """Write a new file. Its mark of UTF-8 is for spreadsheets, which otherwise guess."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8-sig", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error


def _exists(path: Path) -> SheetExistsError:
    return SheetExistsError(f"{path}: is there already, perhaps filled in; move it or name another --out")
