"""What a fleet does through Prefect, as processes of their own, for drills and the benchmark.

python tests/fleetflows.py deploy POOL
python tests/fleetflows.py evaluate NAME '{"suite": ...}'
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys


async def deploy(pool: str) -> None:
    """A work pool of processes, and the workers' deployment in it."""
    from flows.drain import drain
    from prefect import get_client
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.deployments.runner import EntrypointType
    from prefect.exceptions import ObjectAlreadyExists

    async with get_client() as client:
        with contextlib.suppress(ObjectAlreadyExists):
            await client.create_work_pool(WorkPoolCreate(name=pool, type="process"))
    made = await drain.ato_deployment(
        "drain", work_pool_name=pool, entrypoint_type=EntrypointType.MODULE_PATH
    )
    await made.aapply()


async def evaluate(name: str, request: str) -> None:
    """A parent: the flow, then its headline on stdout."""
    from flows.evaluate import evaluate as flow

    state = await flow(name, json.loads(request), return_state=True)
    sys.stdout.write(json.dumps({"state": state.name, "message": state.message}))


def main() -> None:
    """One of them."""
    what, *arguments = sys.argv[1:]
    asyncio.run({"deploy": deploy, "evaluate": evaluate}[what](*arguments))


if __name__ == "__main__":
    main()
