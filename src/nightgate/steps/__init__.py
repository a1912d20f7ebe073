"""What a flow calls: plan, shard, finish, gate. One step a file, the same for every way to start a run.

A step takes its ports from the caller and returns receipts or documents, never payloads. The order
of the steps is the caller's: ``flows`` under Prefect, ``wiring.run_suite`` without.
"""
