"""The Prefect flows: Prefect lives here and nowhere else."""
